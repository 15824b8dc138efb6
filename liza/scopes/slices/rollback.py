"""The rollback of a slice: which base it goes back to, and which tests begin there afterwards."""

from collections.abc import Container, Iterator, Mapping
from datetime import datetime
from typing import Any

from liza.git import rollback
from liza.git.base import RecordedBase
from liza.git.rollback import Plan
from liza.git.rollback_target import Target, find_worktree, is_ancestor, resolve_commit, resolve_target
from liza.git.worktree import Worktree
from liza.model import MAPPINGS
from liza.scopes.records import list_of, named_records
from liza.scopes.slices.fields import named_tests, open_tests
from liza.scopes.slices.rollback_bases import (
    WentBack,
    bases_to_reset,
    files_of_other_slices,
    own_files,
    recorded_base,
    tests_to_reset,
)
from liza.store.board import Board


def plan_rollback(
    record: Mapping[str, Any], name: str, root: str, now: datetime, contested: Container[str] = ()
) -> Plan:
    """Plan a rollback; `Refused`, with the fix, where it is not possible.

    `contested` are files that other slices touched too: a commit that changes one is not the slice's own.
    """
    began = recorded_base(record).about
    tree = find_worktree(began, name, root)
    base = _oldest_base(tree, record)
    own = frozenset(file for file in own_files(record) if file not in contested)
    return rollback.make_plan(tree, _resolve(tree, base, record, name), base, began, name, now, own)


def find_base(record: Mapping[str, Any], name: str, root: str) -> tuple[Worktree, Target]:
    """The working tree of a slice, and what was in it at its base."""
    own = recorded_base(record)
    tree = find_worktree(own.about, name, root)
    known = [each for each in (own, *(recorded_base(test) for _, test in named_tests(record))) if each.tag]
    return tree, _resolve(tree, own if own.about or not known else known[0], record, name)


def _resolve(tree: Worktree, base: RecordedBase, record: Mapping[str, Any], name: str) -> Target:
    return resolve_target(tree, base, name, has_attempts=bool(list_of(record, "attempts")))


def _oldest_base(tree: Worktree, record: Mapping[str, Any]) -> RecordedBase:
    """The oldest base of the tests that are reset; the slice's, where those are not ancestors of each other."""
    own = recorded_base(record)
    known = sorted(bases_to_reset(record), key=lambda base: (base != own, str(base.about.get("taken") or "")))
    if len(known) < 2:
        return known[0] if known else own
    commits = [resolve_commit(tree, base.tag) if base.tag else None for base in known]
    for base, commit in zip(known, commits, strict=True):
        if commit is None or all(other is not None and is_ancestor(tree, commit, other) for other in commits):
            return base
    return own if own.tag or own.about else known[0]


def went_back(plan: Plan, record: Mapping[str, Any]) -> WentBack:
    """Where a rollback went, and the tests that did not begin before it: they begin there now."""
    return WentBack(plan.base, tuple(_tests_after(plan, record)))


def _tests_after(plan: Plan, record: Mapping[str, Any]) -> Iterator[str]:
    reset, target = tests_to_reset(record), plan.target
    for name, test in named_tests(record):
        tag = recorded_base(test).tag
        commit = resolve_commit(plan.tree, tag) if tag else None
        before = commit is not None and commit != target.commit and target.commit is not None
        if name in reset or not before or not is_ancestor(plan.tree, str(commit), str(target.commit)):
            yield name


def plan_on_board(board: Board, name: str, record: Mapping[str, Any], at: datetime) -> Plan:
    """The same with what the other slices of the blackboard touched."""
    section = board.read().data.get("slices")
    contested = files_of_other_slices(section, name, record)
    plan = plan_rollback(record, name, board.paths.project, at, contested)
    return plan._replace(notes=(*plan.notes, *_beside(section, name, record)))


def _beside(section: Any, name: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Slices that are being worked on in the same working tree: what they changed goes back, too."""
    place = recorded_base(record).about.get("work_tree")
    for _, other, entry in named_records(section, "slice"):
        about = recorded_base(entry).about if isinstance(entry, MAPPINGS) else {}
        if other != name and about and about.get("work_tree") == place and open_tests(entry):
            yield f"slice {other} uses the same working tree: its changes would be rolled back, too"
