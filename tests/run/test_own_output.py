"""A run's own log and generated files are not work: a loop that changes nothing else is stopped."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run import LIZA, environment
from tests.run.projects import IDLES, Project
from tests.run.repositories import SETTINGS, commit

pytestmark = pytest.mark.slow

RUN = f"'{LIZA}' run --loop l --on-stagnation abort --max {{most}} -- sh"
LOGS = {
    "standard output": "{run} > run.log",
    "standard error": "{run} 2> run.log",
    "both, appended": "{run} >> run.log 2>&1",
    "in a folder": "mkdir logs; {run} > logs/run.log",
    "two files": "{run} > out.log 2> err.log",
    "tee": "{run} | tee run.log",
    "tee of both": "{run} 2>&1 | tee -a run.log > /dev/null",
    "the end of a pipeline": "{run} | cat | sed -u s/a/b/ > run.log",
    "two tees": "{run} | tee a.log | tee b.log > /dev/null",
    "a process substitution": "{run} > >(tee run.log) 2> >(cat > err.log)",
}

QUICK = ("both, appended", "tee")  # a file and a pipe; the rest are more of the same
SLOW: tuple[tuple[pytest.MarkDecorator, ...], ...] = ((), (pytest.mark.slow,))


def shell(project: Project, script: str, most: int = 4) -> None:
    words = ["bash", "-c", script.replace("{run}", f"{RUN.format(most=most)} '{project.agent}'")]
    env = environment(project.folder, **SETTINGS)
    subprocess.run(words, cwd=project.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)


@pytest.mark.parametrize("script", [pytest.param(LOGS[name], id=name, marks=SLOW[name not in QUICK]) for name in LOGS])
def test_runs_own_log_is_not_work(tmp_path: Path, script: str) -> None:
    project = Project(tmp_path / "p", f"{IDLES}; date +%N")
    shell(project, script)
    assert (project.loop["status"], project.facts["iterations"]) == ("OPEN", 3)
    assert [each["files_changed"] for each in project.recorded] == [0, 0, 0]


@pytest.mark.slow
def test_log_committed_by_the_agent_is_not_work(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "date +%N; git add -A; git commit -qm more")
    shell(project, "{run} > run.log")
    assert (project.loop["status"], project.facts["iterations"]) == ("OPEN", 3)


def test_work_beside_the_log_counts(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION | tee work.txt")
    shell(project, "{run} | tee run.log", most=2)
    assert [each["files_changed"] for each in project.recorded] == [1] * 2
    assert "run.log" not in (project.iteration(2) / "changes.patch").read_text()


@pytest.mark.slow
def test_log_of_a_shell_loop_is_not_work(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    script = f"for n in 1 2 3 4; do date +%N; '{LIZA}' loop record l; done | tee run.log >> all.log"
    shell(project, script)
    assert project.loop["status"] == "OPEN"


GENERATED = [
    "__pycache__/a.cpython-311.pyc", "src/__pycache__/a.cpython-311.pyc", ".pytest_cache/v/cache/lastfailed",
    "node_modules/left-pad/index.js", ".mypy_cache/3.11/a.json", ".venv/pyvenv.cfg", "a.pyc", "liza.egg-info/PKG-INFO",
]  # fmt: skip


@pytest.mark.parametrize("name", GENERATED)
def test_generated_files_are_not_work(tmp_path: Path, name: str) -> None:
    """In a repository without a .gitignore."""
    project = Project(tmp_path / "p", f"mkdir -p {Path(name).parent}; date +%N > {name}")
    project.run("--on-stagnation", "abort", "--max", "6")
    assert (project.loop["status"], project.facts["iterations"]) == ("OPEN", 3)


@pytest.mark.parametrize(
    ("name", "counts"), [("node_modules/a/index.js", True), ("venv/notes.md", True), ("__pycache__/a.pyc", False)]
)
def test_generated_files_count_once_tracked_but_caches_never(tmp_path: Path, name: str, counts: bool) -> None:
    project = Project(tmp_path / "p", f"echo $LIZA_ITERATION > {name}")
    (project.folder / name).parent.mkdir(parents=True)
    (project.folder / name).write_text("0\n")
    commit(project.folder)
    project.run("--max", "2")
    assert [each["files_changed"] for each in project.recorded] == [int(counts)] * 2
