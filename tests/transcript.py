"""The output of commands as files: each file in tests/snapshots is a transcript of real commands, and its own scenario.

    # a comment
    $ a command line, run in a folder that is empty at first; `NAME=value liza ...` sets a variable
    > a line of its standard input
      a line of its standard output
    ! a line of its standard error
    = its exit code, unless that is 0

Only comments, commands and input are read back. `make snapshots` runs them and writes the rest, so a new scenario
is a list of command lines. Times, ids, process numbers and temporary paths are replaced by a placeholder each.
"""

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.run import Result, environment, liza

FOLDER = Path(__file__).with_name("snapshots")
PERSON = "alice"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_REPLACED = (
    (re.compile(r"\b\d{8}-\d{6}(-\d+)?\b"), "SESSION"),
    (re.compile(r"\b(process|pid|PID|kill(?: -9)?) \d+"), r"\1 PID"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "COMMIT"),
    (re.compile(r'trip_id: "?[0-9a-f]{12}"?'), "trip_id: ID"),  # YAML quotes one that could be a number
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\d{8}T\d{6}(\.\d+)?Z(-[0-9a-f]{8})?"), "TIME"),
    (re.compile(r"\b\d+ s\b(?= ago|\)|,| by | \(CHECKPOINT|\n)"), "0 s"),
    (re.compile(r'"seconds": [0-9.e-]+'), '"seconds": 0'),
)


def transcript(file: Path) -> str:
    """The same scenario with today's output."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch, "project").resolve()
        folder.mkdir()
        lines = "\n".join(_run(file.read_text(encoding="utf-8"), folder))
        return lines.strip("\n") + "\n"


def _run(text: str, folder: Path) -> Iterator[str]:
    for part in re.split(r"\n(?=[#$])", text):
        line, *rest = part.splitlines()
        if line.startswith("#"):
            yield from ("", line)
            continue
        given = [each for each in rest if each.startswith(">")]
        yield from (line, *given)
        result = _result(line[2:], "".join(f"{each[2:]}\n" for each in given), folder)
        yield from (f"  {each}".rstrip() for each in _normal(result.out, folder))
        yield from (f"! {each}".rstrip() for each in _normal(result.err, folder))
        if result.code:
            yield f"= {result.code}"


def _result(command: str, stdin: str, folder: Path) -> Result:
    env = {"USER": PERSON, "LOGNAME": PERSON, "GIT_CONFIG_NOSYSTEM": "1"}
    words = shlex.split(command)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, env[name] = words.pop(0).partition("=")
    try:
        if words[0] == "liza":
            return liza(folder, *words[1:], stdin=stdin, **env)
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment(folder, **env), input=stdin, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)
    finally:
        _make_older(folder / ".liza" / "state.yaml")


def _make_older(state: Path) -> None:
    """A file of this moment is read twice, a quarter of a second apart: slow, and tested elsewhere."""
    if state.is_file():
        os.utime(state, (time.time() - 10, time.time() - 10))


def _normal(text: str, folder: Path) -> list[str]:
    text = text.replace(str(folder), "/project").replace(str(folder.parent), "/scratch")
    text = _TIME.sub(_without_moment, text)
    for pattern, word in _REPLACED:
        text = pattern.sub(word, text)
    return text.splitlines()


def _without_moment(found: re.Match[str]) -> str:
    """Replace a time of today by a placeholder; keep one that the scenario gave."""
    near = abs(datetime.fromisoformat(found[0]) - datetime.now(UTC)) < timedelta(days=2)
    return "TIME" if near else found[0]


def renew() -> None:
    for file in sorted(FOLDER.glob("*.txt")):
        file.write_text(transcript(file), encoding="utf-8")


if __name__ == "__main__":
    renew()
