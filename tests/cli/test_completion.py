"""Shell completion: in a real bash, and by the protocols of the other shells."""

import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.run import environment, liza, new_board

STATE = """\
version: 1
tasks:
- {id: task-1, status: CLAIMED}
- {id: task-2, status: CLAIMED}
anomalies: []
# a comment
loops:
  night: {}
  day-2: {}
claims:
  C-1: {text: it is so}
  "$(touch harm)": {text: no}
  "; touch harm": {text: no}
  "*": {text: no}
slices:
- {id: parser}
- nonsense
stages: {draft: {}}
agents: {coder-1: {role: coder}}
"""


def offered(folder: Path, *words: str, shell: str = "bash", **env: str) -> list[str]:
    """The answer to a shell's completion script; nothing else is printed."""
    word = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"_LIZA_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": word}
    result = liza(folder, **asked, **env)
    assert result.err == ""
    return result.out.splitlines()


def values(folder: Path, *words: str, **env: str) -> list[str]:
    return [line.removeprefix("plain,") for line in offered(folder, *words, **env) if line.startswith("plain,")]


def in_bash(folder: Path, *words: str) -> list[str]:
    """The answer of the generated completion function in a real bash."""
    script = (
        'eval "$(liza completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_liza_completion liza; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-u", "-c", script, "bash", *words],
        cwd=folder, env=environment(folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


# --- bash -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["liza", "an"], ["analyze"]),
        (["liza", "rules", "e"], ["explain"]),
        (["liza", "analyze", "--dr"], ["--dry-run"]),
        (["liza", "completion", ""], ["bash", "zsh", "fish"]),
        (["liza", "loop", "status", ""], ["night", "day-2"]),
    ],
)
def test_real_bash_completes(tmp_path: Path, words: list[str], offers: list[str]) -> None:
    new_board(tmp_path, STATE)
    assert in_bash(tmp_path, *words) == offers


def test_tab_completes_in_interactive_bash(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    (tmp_path / "rc").write_text('PS1="ready "; eval "$(liza completion bash)"\n')
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execvpe("bash", ["bash", "--noprofile", "--rcfile", "rc", "-i"], environment(tmp_path))
    try:
        read_until(terminal, "ready ")
        os.write(terminal, b"liza loop status ni\t")
        read_until(terminal, "night")
    finally:
        os.close(terminal)  # which ends the shell
        os.waitpid(pid, 0)


def read_until(terminal: int, text: str, patience: float = 20.0) -> None:
    seen, end = b"", time.monotonic() + patience
    while text.encode() not in seen:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1.0)[0]:
            seen += os.read(terminal, 4096)


# --- candidates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["claim", "show", ""], ["C-1"]),
        (["claim", "add", ""], []),
        (["gate", "--claim", ""], ["C-1"]),
        (["gate", "--slice", "p"], ["parser"]),
        (["attempt", "start", "--slice", ""], ["parser"]),
        (["stage", "close", ""], ["draft"]),
        (["log", "anomaly", "--task", "task-"], ["task-1", "task-2"]),
        (["log", "anomaly", "--type", "retry"], ["retry_loop"]),
        (["log", "entry", "--agent", ""], ["coder-1"]),
        (["rules", "explain", "retry"], ["retry_cluster"]),
        (["silence", "add", "retry"], ["retry_cluster"]),
    ],
    ids=" ".join,
)
def test_completion_offers_only_shell_safe_names(tmp_path: Path, words: list[str], offers: list[str]) -> None:
    new_board(tmp_path, STATE)
    assert values(tmp_path, "liza", *words) == offers


def test_completion_uses_the_board_of_root(tmp_path: Path) -> None:
    new_board(tmp_path / "there", STATE)
    (tmp_path / "here").mkdir()
    there = str(tmp_path / "there")
    for words in (["--root", there, "loop", "status", "n"], ["loop", "status", "--root", there, "n"]):
        assert values(tmp_path / "here", "liza", *words) == ["night"]
    assert values(tmp_path / "here", "liza", "loop", "status", "n", LIZA_ROOT=there) == ["night"]


def test_files_and_folders_are_left_to_the_shell(tmp_path: Path) -> None:
    assert offered(tmp_path, "liza", "validate", "") == ["file,"]
    assert offered(tmp_path, "liza", "analyze", "--root", "") == ["dir,"]


@pytest.mark.parametrize("state", ["loops: [", "loops: 3\n", "", "\0", "loops: {1: x, null: y}\n"])
def test_unreadable_board_completes_to_nothing(tmp_path: Path, state: str) -> None:
    new_board(tmp_path, state)
    assert values(tmp_path, "liza", "loop", "status", "") == []


def test_invalid_rules_complete_to_shipped_ones(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    (tmp_path / ".liza" / "rules.yaml").write_text("rules: [")
    assert values(tmp_path, "liza", "rules", "explain", "retry") == ["retry_cluster"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nonsense", ""], "plain,analyze"),
        (["loop", "nonsense", ""], "plain,list"),
        (["analyze", "--nonsense", "x"], "dir,x"),
        (["'"], "plain,analyze"),
    ],
    ids=str,
)
def test_unknown_words_are_passed_over(tmp_path: Path, words: list[str], expected: str) -> None:
    assert offered(tmp_path, "liza", *words)[0] == expected


def test_missing_board_completes_to_nothing(tmp_path: Path) -> None:
    assert values(tmp_path, "liza", "loop", "status", "") == []


# --- the other shells -----------------------------------------------------------------------------------------------


def test_zsh_and_fish_get_their_own_format(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    assert offered(tmp_path, "liza", "loop", "status", "ni", shell="zsh") == ["plain", "night", "_"]
    assert offered(tmp_path, "liza", "an", shell="fish")[0].startswith("plain,analyze")


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o"), ("zsh", "#compdef liza"), ("fish", "--command liza")]
)
def test_completion_script_fits_the_shell(tmp_path: Path, shell: str, sign: str) -> None:
    result = liza(tmp_path, "completion", shell)
    assert (result.code, result.err) == (0, "")
    assert sign in result.out


def test_unknown_shell_is_wrong_usage(tmp_path: Path) -> None:
    assert liza(tmp_path, "completion", "csh").code == 2


def test_completion_variables_do_not_disable_commands(tmp_path: Path) -> None:
    """A gate that answered with completions would allow everything."""
    new_board(tmp_path)
    (tmp_path / ".liza" / "CHECKPOINT").touch()
    for instruction in ("bash_complete", "bash_source", "nonsense"):
        asked = {"_LIZA_COMPLETE": instruction, "COMP_WORDS": "liza ", "COMP_CWORD": "1"}
        assert liza(tmp_path, "gate", "--json", **asked).code == 2
        assert liza(tmp_path, "gate", **asked).code == 2
        assert liza(tmp_path, "validate", **asked).out.endswith("valid\n")
