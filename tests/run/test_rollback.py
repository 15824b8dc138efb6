"""Rolling a slice back to its base, on real repositories: completely, and without losing the failed work."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from liza.git import rollback
from tests.run.repositories import SETTINGS, commit, git, repository
from tests.run.slices import StartedSlice, dirty, fail, files, state

STARTS = {"a clean start": lambda folder: None, "a dirty start": dirty}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_rollback_restores_everything_and_keeps_the_failed_work(folder: Path, start: Callable[[Path], None]) -> None:
    start(folder)
    begun = StartedSlice(folder)
    assert git(folder, "rev-parse", "HEAD") == begun.base.commit + "\n"
    fail(folder)
    failed = files(folder)
    plan = begun.go_back()
    after = state(folder)
    assert after["files"].pop(b"result.o") == ("file", b"ignored\n"), "what git ignores is left alone"
    assert after == begun.before
    assert plan.commits == (git(folder, "log", "-1", "--format=%h %s", f"{plan.saved}^1").strip(),)
    subprocess.run(["sh", "-ec", rollback.restore_command(plan)], check=True)
    assert failed.items() <= files(folder).items()


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_printed_commands_do_the_same_by_hand(folder: Path, start: Callable[[Path], None]) -> None:
    start(folder)
    begun = StartedSlice(folder)
    fail(folder)
    plan = begun.plan()
    script = "\n".join(rollback.shell_commands(plan))
    subprocess.run(["sh", "-euc", script], check=True, env={**os.environ, **SETTINGS}, stdout=subprocess.DEVNULL)
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == begun.before
    assert git(folder, "cat-file", "-t", plan.saved) == "commit\n"


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_starting_and_planning_leave_no_trace(folder: Path, start: Callable[[Path], None]) -> None:
    start(folder)
    before, index = state(folder), (folder / ".git" / "index").read_bytes()
    begun = StartedSlice(folder)
    assert (folder / ".git" / "index").read_bytes() == index
    assert state(folder) == before
    fail(folder)
    inside = {path: path.read_bytes() for path in (folder / ".git").rglob("*") if path.is_file()}
    plan = begun.plan()
    assert {path: path.read_bytes() for path in (folder / ".git").rglob("*") if path.is_file()} == inside
    assert {(each.status, each.path) for each in plan.changes} >= {("A", "added"), ("M", "changed"), ("D", "kept")}


def test_start_is_kept_and_a_dirty_one_is_noted(folder: Path) -> None:
    clean = StartedSlice(folder)
    assert (clean.base.dirty, clean.notes) == (False, ())
    assert git(folder, "rev-parse", str(clean.base.ref)).strip() == clean.base.commit
    dirty(folder)
    begun = StartedSlice(folder)
    assert (begun.base.dirty, begun.base.commit) == (True, clean.base.commit)
    assert "uncommitted" in begun.notes[0]
    assert git(folder, "show", f"{begun.base.ref}:un tracked") == "mine\n"


def test_base_survives_an_amend_and_git_gc(folder: Path) -> None:
    begun = StartedSlice(folder)
    (folder / "changed").write_text("2\n")
    commit(folder, "--amend")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")
    plan = begun.go_back()
    assert state(folder) == begun.before
    assert "rebased or amended" in plan.notes[0]


# --- never touched --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tracked", [False, True])
def test_rollback_touches_no_blackboard(folder: Path, tracked: bool) -> None:
    boards = [folder / ".liza", folder / "src" / ".liza"]
    for board in boards:
        board.mkdir()
        (board / "state.yaml").write_text("version: 1\n")
    if tracked:
        commit(folder)
    begun = StartedSlice(folder)
    assert begun.base.dirty is False
    for board in boards:
        (board / "state.yaml").write_text("version: 1\nslices: {}\n")
        (board / "reports").mkdir()
        (board / "reports" / "new.md").write_text("why\n")
    before = [(path, path.stat().st_mtime_ns, path.stat().st_ino) for board in boards for path in board.rglob("*")]
    fail(folder)
    plan = begun.go_back()
    assert [(path, path.stat().st_mtime_ns, path.stat().st_ino) for path, _, _ in before] == before
    assert [each.path for each in plan.changes if ".liza" in each.path] == []
    assert not (folder / "added").exists()


def test_rollback_leaves_a_nested_repository_alone(folder: Path) -> None:
    inner = repository(folder / "vendor" / "inner", x="1")
    git(folder, "init", "-q", "empty one")
    (folder / "empty one" / "file").write_text("not committed anywhere\n")
    begun = StartedSlice(folder)
    (inner / "x").write_text("2")
    (folder / "changed").write_text("2\n")
    begun.go_back()
    assert (inner / "x").read_text() == "2"
    assert (folder / "empty one" / "file").read_text() == "not committed anywhere\n"
    assert (folder / "changed").read_text() == "1\n"


def test_submodule_is_left_alone_with_a_note(folder: Path, tmp_path: Path) -> None:
    library = repository(tmp_path / "library", x="1")
    git(folder, "submodule", "add", "-q", str(library), "lib")
    commit(folder)
    begun = StartedSlice(folder)
    (folder / "lib" / "x").write_text("2")
    commit(folder / "lib")
    commit(folder)
    plan = begun.go_back()
    assert plan.notes == ("the submodule lib is left unchanged; to fix: git submodule update --init lib",)
    assert (folder / "lib" / "x").read_text() == "2"
    git(folder, "submodule", "update", "-q", "--init", "lib")
    assert (folder / "lib" / "x").read_text() == "1"


def test_rollback_runs_no_hook(folder: Path) -> None:
    for name in ("post-checkout", "post-commit", "pre-commit", "reference-transaction", "post-index-change"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch '{folder}/ran'\n")
        hook.chmod(0o755)
    begun = StartedSlice(folder)
    (folder / "changed").write_text("2\n")
    begun.go_back()
    assert not (folder / "ran").exists()


# --- files in the way -----------------------------------------------------------------------------------------------


def test_ignored_files_in_the_way_are_saved_first(folder: Path) -> None:
    (folder / "config").write_text("tracked\n")
    commit(folder)
    begun = StartedSlice(folder)
    git(folder, "rm", "-q", "config", "kept")
    (folder / ".gitignore").write_text("config\nkept\nsrc\n")
    commit(folder)
    (folder / "config").write_text("a secret that exists nowhere else\n")
    (folder / "kept").mkdir()
    (folder / "kept" / "inside").write_text("so does this\n")
    git(folder, "rm", "-q", "-r", "src")
    (folder / "src").write_text("a file in the place of a folder\n")
    failed = files(folder)
    plan = begun.go_back()
    assert set(plan.forced) == {"config", "kept/inside", "src"}
    assert state(folder) == begun.before
    assert git(folder, "show", f"{plan.saved}:config") == "a secret that exists nowhere else\n"
    subprocess.run(["sh", "-ec", rollback.restore_command(plan)], check=True)
    assert files(folder) == failed


def test_link_in_place_of_a_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "program").write_text("not yours\n")
    begun = StartedSlice(folder)
    git(folder, "rm", "-q", "-r", "src")
    (folder / "src").symlink_to(elsewhere)
    begun.go_back()
    assert state(folder) == begun.before
    assert (elsewhere / "program").read_text() == "not yours\n"


def test_names_of_every_kind_are_restored(folder: Path) -> None:
    names = [
        b"two words",
        b"a\nline",
        b"quo\"te's",
        b"-dash",
        b"*",
        b":(top)x",
        b"\xff\xfe",
        "ä".encode(),
        b"a\\b",
        b"!x",
    ]
    for name in names:
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(b"1")
    commit(folder)
    begun = StartedSlice(folder, "S 1/ä..~^:?*[\\.lock")
    for name in names[::2]:
        os.unlink(os.path.join(os.fsencode(folder), name))
    for name in names[1::2]:
        os.rename(os.path.join(os.fsencode(folder), name), os.path.join(os.fsencode(folder), name + b" new"))
    plan = begun.go_back()
    assert state(folder) == begun.before
    assert plan.saved.startswith("refs/liza/saved/S%201%2F")
