"""The built wheel, installed into a venv in another folder, works with all templates.

`make dist` takes longer and tests that its declared dependencies suffice.
"""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.cli.run import environment

ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # pip's own settings, such as its package index, apply here, too.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_wheel_has_all_templates_and_works_installed(tmp_path: Path) -> None:
    # One test, because both halves need the wheel and workers do not share it.
    wheel = built(tmp_path)
    holds_everything(wheel)
    python = installed(wheel, tmp_path)
    works(python, tmp_path)


def built(folder: Path) -> Path:
    (folder / "wheel").mkdir()
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheel", ROOT, folder=folder)
    (wheel,) = (folder / "wheel").iterdir()
    return wheel


def holds_everything(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    templates = [file for file in (ROOT / "templates").rglob("*") if file.is_file()]
    assert templates
    for file in templates:
        assert contents[f"liza/{file.relative_to(ROOT)}"] == file.read_bytes()
    package = [file for file in (ROOT / "liza").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert {str(file.relative_to(ROOT)) for file in package} <= contents.keys()
    assert "liza/py.typed" in contents
    assert not [name for name in contents if name.startswith(("tests/", "benchmarks/", "docs/"))]


def installed(wheel: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "venv", "--without-pip", "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    run(*PIP, "--python", python, "install", "--no-deps", wheel, folder=folder)
    (own,) = (folder / "venv").glob("lib/python*/site-packages")
    (own / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")  # after its own, where the wheel is
    return python


def works(python: Path, folder: Path) -> None:
    project = folder / "project"
    project.mkdir()

    def liza(*words: str) -> str:
        done = subprocess.run(
            [python.with_name("liza"), *words], cwd=project, env=environment(project), capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "created .liza/state.yaml" in liza("init", "--goal", "Ship it")
    for file in ("log.yaml", "rules.yaml"):
        assert (project / ".liza" / file).read_bytes() == (ROOT / "templates" / file).read_bytes()
    liza("log", "anomaly", "--type", "workaround", "--task", "t", "--reporter", "r", "what=x")
    liza("log", "entry", "--agent", "a", "--action", "x")
    assert "OK" in liza("analyze")
    assert liza("validate").endswith("valid\n")
    where = run(python, "-c", "import liza; assert liza.gate(); print(liza.__file__)", folder=project)
    assert where.stdout.startswith(str(folder.resolve())), "the installed package must be the one that ran"
