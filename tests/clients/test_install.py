"""Installing the hook: settings of others stay as they are, and an uninstall gives back what was there."""

import json
import os
import pty
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.clients.install import CLIENTS, Edit, apply, settings_file
from liza.clients.json_edit import add_entries, remove_entries
from liza.clients.mcp_servers import servers_file
from liza.clients.plan import plan_install, plan_uninstall
from liza.errors import Refused
from tests.cli.run import LIZA, environment, installed

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
_ENTRIES = st.fixed_dictionaries({"matcher": st.text(max_size=3), "hooks": st.lists(_VALUES, max_size=2)})
_EVENTS = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "X"]), st.lists(_ENTRIES, max_size=3), max_size=3)
_DOCUMENTS = st.fixed_dictionaries({}, optional={"a": _VALUES, "hooks": _EVENTS, "z": _VALUES})
_PATH = ("hooks", "PreToolUse")


@given(_DOCUMENTS, st.sampled_from([None, 1, 2, 4]), st.integers(1, 3))
def test_removing_what_was_added_gives_back_every_byte(
    document: dict[str, Any], indent: int | None, count: int
) -> None:
    before = json.dumps(document, indent=indent)
    ours = [{"liza": number} for number in range(count)]
    after = add_entries(before, _PATH, ours, "settings.json")
    expected = json.loads(before)
    expected.setdefault("hooks", {}).setdefault("PreToolUse", []).extend(ours)
    assert json.loads(after) == expected
    assert remove_entries(after, _PATH, lambda each: "liza" in each, "settings.json") == before


JSON = [name for name, settings in CLIENTS.items() if settings.plugin is None]  # the form that most settings have
ORIGINAL = """{
    "permissions": {"allow": ["Bash"]},
  "hooks": {"Stop": [{"hooks": [{"type":"command","command":"say done"}]}]}
}
"""


@pytest.mark.parametrize("client", JSON)
@pytest.mark.parametrize("original", [None, ORIGINAL, "{}", "{ }\n"])
def test_uninstall_restores_the_settings(folder: Path, client: str, original: str | None) -> None:
    file = Path(settings_file(client, "local", str(folder)))
    if original is not None:
        file.parent.mkdir()
        file.write_text(original)
    assert installed(folder, "install", client).code == 0
    text = file.read_text()
    assert CLIENTS[client].events.keys() <= json.loads(text)["hooks"].keys()
    assert installed(folder, "install", client).code == 0
    assert file.read_text() == text
    assert installed(folder, "install", client, "--uninstall").code == 0
    assert (file.read_text() if file.exists() else None) == original
    assert file.parent.exists() == (original is not None)


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstall_leaves_a_folder_that_was_there(folder: Path, client: str) -> None:
    there = Path(settings_file(client, "local", str(folder))).parent
    there.mkdir(parents=True)
    assert installed(folder, "install", client).code == 0
    assert installed(folder, "install", client, "--uninstall").code == 0
    assert list(there.iterdir()) == []


_NAMES = [*CLIENTS["claude"].events, *CLIENTS["gemini"].events, "X"]
_TEXTS = st.builds(
    lambda value, indent, ascii_, tail: json.dumps(value, indent=indent, ensure_ascii=ascii_) + tail,
    st.dictionaries(
        st.text(max_size=4) | st.sampled_from(["hooks", "permissions", "mcpServers"]),
        _VALUES | st.dictionaries(st.sampled_from(_NAMES), st.lists(_ENTRIES, max_size=2)),
        max_size=4,
    ),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.booleans(),
    st.sampled_from(["", "\n", "\r\n", "  \n\n"]),
)


@pytest.mark.parametrize("client", JSON)
@given(before=_TEXTS, tools=st.booleans())
def test_uninstall_undoes_an_install_in_any_settings(client: str, before: str, tools: bool) -> None:
    """A file that cannot take the hook or the tools is refused, and so is left as it is."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(settings_file(client, "local", folder))
        file.parent.mkdir()
        file.write_bytes(before.encode())
        try:
            change(plan_install(client, "local", folder, tools=tools))
        except Refused:
            others = {"hooks": {}, "mcpServers": {}, **json.loads(before)}
            assert (
                not isinstance(others["mcpServers"], dict)
                or not isinstance(others["hooks"], dict)
                or not all(isinstance(each, list) for each in others["hooks"].values())
            )
        else:
            assert not any(edit.changes for edit in plan_install(client, "local", folder, tools=tools))
            mine, others = json.loads(file.read_bytes()), json.loads(before)
            ours = dict.fromkeys(("hooks", "mcpServers"))
            assert {**mine, **ours} == {**others, **ours}
            change(plan_uninstall(client, "local", folder))
        assert [each.read_bytes() for each in Path(folder).rglob("*.*") if each.is_file()] == [before.encode()]


def change(edits: list[Edit]) -> None:
    for edit in edits:
        apply(edit)


_TOML = st.lists(
    st.sampled_from(
        ["", "# mine", "model = 'x'", "[mcp_servers.other]", "[[a]]", 'text = """\n[mcp_servers.liza]\n"""', "[z] # z"]
    ),
    max_size=6,
)


@given(lines=_TOML, end=st.sampled_from(["", "\n", "\n\n"]), behind=st.sampled_from(["", "\n[last]\nx = 1\n"]))
def test_uninstall_restores_the_settings_of_codex(lines: list[str], end: str, behind: str) -> None:
    before = "\n".join(lines) + end
    with tempfile.TemporaryDirectory() as folder:
        file = Path(servers_file("codex", "local", folder))
        file.parent.mkdir()
        file.write_text(before)
        try:
            known = tomllib.loads(before)
            change(plan_install("codex", "local", folder, tools=True))
        except (Refused, tomllib.TOMLDecodeError):
            assert file.read_text() == before
            return
        found = tomllib.loads(file.read_text())
        assert found["mcp_servers"].pop("liza")["command"] == "sh"
        assert {"mcp_servers": {}, **known} == found
        file.write_text(file.read_text() + behind)  # a person goes on in that file
        change(plan_uninstall("codex", "local", folder))
        assert (file.read_text() if file.exists() else "") == before + behind


@pytest.mark.parametrize("client", CLIENTS)
def test_tools_of_others_by_the_same_name_are_kept(folder: Path, client: str) -> None:
    file = Path(servers_file(client, "local", str(folder)))
    file.parent.mkdir(exist_ok=True)
    theirs = "[mcp_servers.liza]\ncommand = 'x'\n" if client == "codex" else '{"%s": {"liza": {"command": "x"}}}'
    file.write_text(theirs if client == "codex" else theirs % ("mcp" if client == "opencode" else "mcpServers"))
    before = file.read_bytes()
    assert installed(folder, "install", client, "--mcp").code == 1
    assert file.read_bytes() == before
    assert installed(folder, "install", client, "--uninstall").code == 0
    assert file.read_bytes() == before


def test_link_to_the_settings_stays_one(folder: Path) -> None:
    target = folder / "dotfiles.json"
    target.write_text(ORIGINAL)
    target.chmod(0o600)
    link = folder / ".claude/settings.local.json"
    link.parent.mkdir()
    link.symlink_to(target)
    assert installed(folder, "install", "claude").code == 0
    assert (link.is_symlink(), target.stat().st_mode & 0o777, target.read_text() == ORIGINAL) == (True, 0o600, False)
    assert installed(folder, "install", "claude", "--uninstall").code == 0
    assert (link.is_symlink(), target.read_text()) == (True, ORIGINAL)


def test_user_and_project_exclude_each_other(folder: Path) -> None:
    assert installed(folder, "install", "claude", "--user", "--project").code == 2
    assert not (folder / ".claude").exists()


def test_dry_run_writes_nothing(folder: Path) -> None:
    assert installed(folder, "install", "claude", "--dry-run").code == 0
    assert not (folder / ".claude").exists()
    assert not (folder / ".local").exists()


def test_installed_line_runs_the_hook(folder: Path) -> None:
    assert installed(folder, "install", "claude").code == 0
    hooks = json.loads((folder / ".claude/settings.local.json").read_text())["hooks"]
    command = hooks["PreToolUse"][0]["hooks"][0]["command"]
    assert subprocess.run(["sh", "-c", command], cwd=folder, input=b"{}", check=False).returncode == 0
    (folder / ".liza" / "CHECKPOINT").touch()
    assert subprocess.run(["sh", "-c", command], cwd=folder, input=b"{}", check=False, stderr=-1).returncode == 2
    (folder / ".liza" / "CHECKPOINT").unlink()
    (folder / ".local/share/liza/hook.sh").unlink()
    assert subprocess.run(["sh", "-c", command], cwd=folder, input=b"{}", check=False, stderr=-1).returncode == 2


def test_committed_settings_hold_no_path_of_this_machine(folder: Path) -> None:
    assert installed(folder, "install", "claude", "--project").code == 0
    assert str(folder) not in (folder / ".claude/settings.json").read_text()


@pytest.mark.parametrize("client", [name for name, settings in CLIENTS.items() if settings.shared is None])
def test_file_that_may_be_committed_holds_no_path_of_this_machine(folder: Path, client: str) -> None:
    assert installed(folder, "install", client).code == 0
    assert str(folder) not in Path(settings_file(client, "local", str(folder))).read_text()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"hooks": ', (1, 11)),
        ('{\n  "hooks": []\n}', (2, 12)),
        ('{"hooks": {\n"PreToolUse": {}}}', (2, 15)),
        ("[]", None),
        ('{"a": 1, "a": 2}', None),
        ('{"a": 1} // mine', (1, 10)),
    ],
)
def test_broken_settings_are_refused_with_their_place_and_kept(
    folder: Path, text: str, place: tuple[int, int] | None
) -> None:
    file = folder / ".claude/settings.local.json"
    file.parent.mkdir()
    file.write_text(text)
    found = installed(folder, "install", "claude", "--json")
    (problem,) = found.json["problems"]
    assert (found.code, problem["file"], file.read_text()) == (1, str(file), text)
    assert (problem["line"], problem["column"]) == (place or (None, None))


# --- without a client -------------------------------------------------------------------------------------------------


def test_without_a_client_and_a_terminal_the_commands_are_listed(folder: Path) -> None:
    (folder / ".codex").mkdir()
    found = installed(folder, "install", PATH="/usr/bin:/bin")
    assert (found.code, found.hint()) == (2, "liza install codex")
    assert not (folder / ".codex/hooks.json").exists()
    assert installed(folder, "install", "codex").code == 0
    assert installed(folder, "install", PATH="/usr/bin:/bin").code == 0  # nothing to ask about


def test_without_a_client_nothing_to_find_is_refused(folder: Path) -> None:
    assert installed(folder, "install", PATH="/usr/bin:/bin").code == 1


def test_on_a_terminal_each_client_is_asked_for(folder: Path) -> None:
    for name in (".claude", ".codex"):
        (folder / name).mkdir()
    ours, theirs = pty.openpty()
    os.write(ours, b"n\ny\ny\n")  # not Claude; of Codex the hook, and the tools
    process = subprocess.Popen(
        [LIZA, "install"], cwd=folder, env=environment(folder, PATH="/usr/bin:/bin"), stdin=theirs, stdout=theirs,
        stderr=theirs,
    )  # fmt: skip
    assert process.wait(60) == 0
    os.close(theirs)
    os.close(ours)
    assert not (folder / ".claude/settings.local.json").exists()
    assert (folder / ".codex/hooks.json").exists()
    assert "liza" in tomllib.loads((folder / ".codex/config.toml").read_text())["mcp_servers"]


def test_user_settings_need_no_blackboard(tmp_path: Path) -> None:
    assert installed(tmp_path, "install", "codex", "--user").code == 0
    assert "hook.sh" in (tmp_path / ".codex/hooks.json").read_text()
    elsewhere = tmp_path / "elsewhere"
    assert installed(tmp_path, "install", "claude", "--user", CLAUDE_CONFIG_DIR=str(elsewhere)).code == 0
    assert (elsewhere / "settings.json").exists()


@pytest.mark.parametrize(("words", "code"), [(("install", "claude", "--user"), 1), (("status",), 0), (("doctor",), 1)])
def test_user_without_a_home(folder: Path, words: tuple[str, ...], code: int) -> None:
    """As in a container: nothing is written into a folder that is called ~, and status works."""
    found = installed(folder, *words, HOME="~")  # what Python has for a user that does not exist
    assert (found.code, (folder / "~").exists()) == (code, False), found.err
    assert code == 0 or "HOME" in found.err + found.out
