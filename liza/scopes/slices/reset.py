"""The reset of a slice: what is refused, whether its working tree goes back, and what the next agent has to know."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused, WrongUsage
from liza.git import rollback
from liza.git.rollback import Plan
from liza.rules.evaluate import RuleSet
from liza.scopes.slices import attempt_texts, prior_attempts, states, worktree
from liza.scopes.slices.record import SliceResult, find_slice, reset_slice
from liza.scopes.slices.rollback import plan_on_board, went_back
from liza.store.board import Board
from liza.text import escape_surrogates, shell_quoted


class Undone(NamedTuple):
    """The plan to go back, or why there is none, and what was rolled back."""

    plan: Plan | None
    why_not: str | None = None
    rolled_back: Mapping[str, Any] | None = None

    @property
    def is_as_begun(self) -> bool:
        """Whether the working tree is as it was when the slice began."""
        return self.plan is not None and (self.rolled_back is not None or not self.plan.is_needed)


class Reset(NamedTuple):
    """A slice that is about to be reset: nothing on the blackboard has changed."""

    name: str
    record: Mapping[str, Any]
    undone: Undone

    @property
    def is_untouched(self) -> bool:
        return states.is_untouched(self.record)


def begin_reset(board: Board, name: str, guidance: str | None, at: datetime, *, go_back: bool, force: bool) -> Reset:
    """`Refused` where it must not be reset or rolled back; with `go_back` its working tree is rolled back."""
    reset = Reset(name, find_slice(board, name), Undone(None))
    if not reset.is_untouched and not (guidance or "").strip():
        hint = f"liza attempt reset --slice {shell_quoted(name)} -m 'what to do differently'"
        raise Refused(f"a reset of slice {name} needs guidance for the next agent", hint=hint)
    plan, why_not = None, None
    try:
        plan = plan_on_board(board, name, reset.record, at)
    except LizaError as error:
        if go_back:
            raise
        why_not = error.message
    if force and not go_back:
        raise WrongUsage("--force without --rollback has no effect", hint="add --rollback, or leave out --force")
    if plan is None or not go_back:
        return reset._replace(undone=Undone(plan, why_not))
    if not force:
        rollback.require_own_commits(plan, name)
    return reset._replace(undone=Undone(plan, None, _roll_back(plan) if plan.is_needed else None))


def _roll_back(plan: Plan) -> dict[str, Any]:
    commit = rollback.roll_back(plan)
    return {"to": plan.target.commit or plan.target.content, "saved": plan.saved, "commit": commit}


def finish_reset(
    board: Board, reset: Reset, guidance: str | None, by: str, rules: RuleSet, at: datetime
) -> tuple[SliceResult, str]:
    """The slice after its reset, and the <prior_attempts> block for the next agent."""
    plan, _, rolled_back = reset.undone
    given = escape_surrogates(guidance)[: 4 * attempt_texts.ERROR] if guidance else None
    gone_to = went_back(plan, reset.record) if plan is not None and rolled_back is not None else None
    done = reset_slice(board, reset.name, given, by, rolled_back, rules, at, gone_to)
    worktree.look_around(board, reset.name)
    run = prior_attempts.last_run(done.record)
    if run is None:
        return done, ""
    block, wrong = prior_attempts.render_block(board.paths, reset.name, run, as_begun=reset.undone.is_as_begun)
    return done._replace(warnings=(*done.warnings, *filter(None, [wrong]))), block
