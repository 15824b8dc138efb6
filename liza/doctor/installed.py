"""What is installed: liza, Python and the libraries against what was tested, and the programs used beside it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from importlib import metadata
from shutil import which

from liza import __version__
from liza.doctor.finding import Finding, Level
from liza.store.paths import Paths

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*((?:[<>=!~]=?[^;,]+,?)*)\s*(;.*)?")
_TIME_LIMIT = 10


# --- versions -------------------------------------------------------------------------------------------------------


def versions(paths: Paths | None, now: datetime) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    try:
        needed = metadata.requires("liza") or []
    except metadata.PackageNotFoundError:
        text = f"liza {__version__} is not installed as a package: library versions cannot be checked"
        yield Finding("versions", Level.WARNING, text, f"{sys.executable} -m pip install .")
        return
    wrong = [finding for each in needed if (finding := _library(each)) is not None]
    yield from wrong
    if not wrong:
        count = sum("extra ==" not in each for each in needed)
        yield Finding(
            "versions", Level.OK, f"liza {__version__}, Python {python}, {count} libraries in tested versions"
        )


def _library(requirement: str) -> Finding | None:
    """What is wrong with one library; None if it is as tested, or is asked for by developers only."""
    parts = _REQUIREMENT.fullmatch(requirement)
    if parts is None or "extra ==" in (parts[3] or ""):
        return None
    name, tested = parts[1], parts[2]
    fix = f"{sys.executable} -m pip install '{name}{tested}'"
    try:
        there = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding("versions", Level.ERROR, f"{name} is not installed", fix)
    if _is_within(there, tested):
        return None
    older = not _is_within(there, ",".join(each for each in tested.split(",") if each.startswith(">")))
    level = Level.ERROR if older else Level.WARNING
    return Finding("versions", level, f"{name} {there} is {'older' if older else 'newer'} than tested ({tested})", fix)


def _is_within(version: str, limits: str) -> bool:
    """Whether a version is in a range like `>=8.2,<9`, the only kind that liza asks for."""
    mine = _numbers(version)
    for limit in filter(None, limits.split(",")):
        bound = _numbers(limit.lstrip("<>="))
        if (limit.startswith(">=") and mine < bound) or (limit.startswith("<") and mine >= bound):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"[\d.]*", version.strip())
    numbers = [int(each) for each in (found[0] if found else "").split(".") if each]
    return tuple(numbers + [0] * (4 - len(numbers)))


# --- programs -------------------------------------------------------------------------------------------------------


def tools(paths: Paths | None, now: datetime) -> Iterator[Finding]:
    yield _jq()
    yield _yq()
    yield _gate()


def _jq() -> Finding:
    path = which("jq")
    if path is None:
        text = "jq is not installed: yq needs it, and so do shell scripts that read --json"
        return Finding("tools", Level.WARNING, text, "sudo apt-get install jq   (or: brew install jq)")
    return Finding("tools", Level.OK, f"jq is {path}")


def _yq() -> Finding:
    """Two programs have that name. The documented edits need the Python one, a wrapper of jq; only it has -Y."""
    own = os.path.join(os.path.dirname(sys.executable), "yq")  # which pipx does not put on the PATH
    is_here = os.access(own, os.X_OK)
    fix = f"call the one that came with liza: {own}" if is_here else f"{sys.executable} -m pip install 'yq>=3.4,<5'"
    path = which("yq")
    if path is None:
        return Finding("tools", Level.WARNING, "yq is not on PATH: the documented edits by hand need it", fix)
    edited = _output([path, "-Y", ".a = 2"], "a: 1\n")
    if edited is not None and edited.strip() == "a: 2":
        return Finding("tools", Level.OK, f"yq is {path} (the Python yq)")
    if "mikefarah" in (_output([path, "--version"], "") or ""):
        text = f"{path} is mikefarah/yq, which has no -Y: the documented edits need the Python yq"
        return Finding(
            "tools", Level.WARNING, text, fix if is_here else f"{fix}   (and have its folder earlier on the PATH)"
        )
    return Finding("tools", Level.WARNING, f"{path} does not do what the documented edits need: yq -Y '.a = 2'", fix)


def _gate() -> Finding:
    """A hook whose command is not found lets everything through."""
    path = which("liza-gate")
    if path is not None:
        return Finding("tools", Level.OK, f"liza-gate is {path}")
    full = os.path.join(os.path.dirname(sys.executable), "liza-gate")
    text = "liza-gate is not on PATH: hooks that call it by name cannot find it"
    return Finding("tools", Level.WARNING, text, f"use its full path in the hook: {full}")


def _output(command: list[str], stdin: str) -> str | None:
    """What a program prints; None if it fails."""
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
