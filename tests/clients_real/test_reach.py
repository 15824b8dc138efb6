"""What docs/agents.md says of real clients: which sessions a hook reaches, and what `on_halt` and trust do."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.clients_real.lab import OPTIONS, Lab, wait, working
from tests.doctor.test_hooks import trust

MOVED = ("UserPromptSubmit", "PreToolUse")
LOCAL, USER, TEAM = (), ("--user",), ("--project",)
# Which sessions run the hook that `liza install` puts there: in the folder itself, a subfolder, a linked worktree.
REACH = [
    ("claude", LOCAL, (True, False, False)),
    ("claude", TEAM, (True, False, True)),
    ("claude", USER, (True, True, True)),
    ("codex", LOCAL, (True, True, False)),
    ("codex", USER, (True, True, True)),
]


def folders(lab: Lab, *, commits: bool) -> tuple[Path, Path, Path]:
    below, beside = lab.project / "billing", lab.project.with_name("beside")
    below.mkdir()
    for words in (
        *((("add", "-A"),) if commits else ()),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "start"),
        ("worktree", "add", "-q", str(beside), "-b", "beside"),
    ):
        subprocess.run(["git", *words], cwd=lab.project, check=True)
    return lab.project, below, beside


@pytest.mark.parametrize(("client", "words", "reached"), REACH)
def test_hook_reaches_sessions_in(lab: Lab, client: str, words: tuple[str, ...], reached: tuple[bool, ...]) -> None:
    lab.set_up()
    assert lab.liza("install", client, *words).code == 0
    (lab.board / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    found = []
    for number, folder in enumerate(folders(lab, commits=words == TEAM)):
        agent = lab.start(client, [working(str(number), 0)], folder=folder)
        agent.finish()
        found.append(len(agent.requests) == 0)
    print(f"{client} {words}: {found}")
    assert tuple(found) == reached


@pytest.mark.parametrize(("client", "policy"), [("claude", "block"), ("claude", "end"), ("codex", "block")])
def test_policy_of_a_halt(lab: Lab, client: str, policy: str) -> None:
    """`block` pays for each refused call, `end` for one at most."""
    lab.set_up(client, rules=f"on_halt: {policy}\n")
    agent = lab.start(client, [working("a", number) for number in range(12)])
    wait(lambda: lab.ran("a") >= 2, "some work was done")
    (lab.board / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    done, asked = lab.ran("a"), len(agent.requests)
    agent.finish()
    more = len(agent.requests) - asked
    print(f"{client} {policy}: {more} requests after the halt, {lab.ran('a') - done} calls")
    assert lab.ran("a") <= done + 1  # one may have begun
    assert more <= 2 if policy == "end" else more >= 9


def test_reviewed_hook_of_codex_runs_and_a_moved_one_does_not(lab: Lab) -> None:
    """As `liza doctor` says of each: what it takes for trusted is what Codex runs."""
    lab.set_up("codex")
    (lab.home / ".codex").mkdir()
    trust(lab.project)
    reviewed = (lab.project / ".codex" / "config.toml").rename(lab.home / ".codex" / "config.toml")
    tomllib.loads(reviewed.read_text())
    (lab.board / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    untrusting = OPTIONS._replace(trusts=False)
    agent = lab.start("codex", [working("a", 0)], untrusting)
    agent.finish()
    assert (len(agent.requests), wrong(lab)) == (0, 0)
    file = lab.project / ".codex" / "hooks.json"
    for event in MOVED:
        text = file.read_text()
        at = text.index("[", text.index(f'"{event}"')) + 1
        file.write_text(f'{text[:at]}{{"hooks": [{{"type": "command", "command": "true"}}]}}, {text[at:]}')
    lab.start("codex", [working("a", 0)], untrusting)
    wait(lambda: lab.ran("a") == 1, "neither its prompt nor its call is refused")
    assert wrong(lab) == 1


def wrong(lab: Lab) -> int:
    """How many errors `liza doctor` finds in hooks."""
    shown = lab.liza("doctor", "--json").json["findings"]
    return sum((each["about"], each["level"]) == ("hooks", "error") for each in shown)
