"""The ways in which people and programs write on a blackboard."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.cli.run import BIN
from tests.tools import needs


def text_of(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as lines of a YAML list; JSON is YAML."""
    return "".join(f"  - {json.dumps(each)}\n" for each in records)


def save(state: Path, text: str) -> None:
    """As most editors and coding agents save: a new file, moved over the old one."""
    draft = state.with_name("draft-of-a-test")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, state)


def _run(state: Path, *command: str | Path, stdin: str = "") -> None:
    # Not the folder's own lock file as a working folder: these programs leave their drafts where they run.
    needs("jq" if command[0] == "yq" else str(command[0]))
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    subprocess.run(command, cwd=state.parent, env=environment, input=stdin.encode(), check=True, capture_output=True)


def replaced(state: Path, records: Sequence[Mapping[str, Any]]) -> None:
    save(state, state.read_text(encoding="utf-8") + text_of(records))


def appended_under_the_lock(state: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """A shell script: flock(1), then `>>`."""
    _run(state, "flock", "-x", f"{state}.lock", "-c", f"cat >> '{state}'", stdin=text_of(records))


def by_yq(state: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """The edit by hand that the documentation shows; it writes in place and cuts the tail off afterwards."""
    _run(state, "yq", "-Y", "-i", f".anomalies += {json.dumps(list(records))}", str(state))


def by_vim(state: Path, records: Sequence[Mapping[str, Any]]) -> None:
    draft = state.parent.parent / "lines-for-vim"
    draft.write_text(text_of(records), encoding="utf-8")
    _run(state, "vim", "-Nes", "-u", "NONE", "-i", "NONE", "-c", f"$read {draft}", "-c", "wq", str(state))


def in_place_without_lock(state: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """The whole text again, over the old one."""
    text = state.read_text(encoding="utf-8") + text_of(records)
    with open(state, "r+", encoding="utf-8") as file:
        file.write(text)
        file.truncate()


Writer = Callable[[Path, Sequence[Mapping[str, Any]]], None]
WRITERS: dict[str, Writer] = {
    "os.replace": replaced,
    "append under flock": appended_under_the_lock,
    "yq": by_yq,
    "vim": by_vim,
    "in place without lock": in_place_without_lock,
}


def yq(state: Path, expression: str) -> None:
    """Any other edit by hand."""
    _run(state, "yq", "-Y", "-i", expression, str(state))
