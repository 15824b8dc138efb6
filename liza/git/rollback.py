"""Roll a slice back to its base: the plan that people read, and its execution.

Nothing is lost: the content of the working tree is saved first, as a commit under `refs/liza/`, with ignored files in
the way of restored ones. Never touched are a `.liza/`, a repository inside the working tree, a file that git is set to
skip (nothing could save it), and what git ignored when the slice began.
"""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.git import worktree
from liza.git.base import REFS, RecordedBase
from liza.git.capture import commit_content
from liza.git.command import ask, run
from liza.git.rollback_target import Target, require_branch, resolve_commit
from liza.git.worktree import Change, Worktree
from liza.model import Problem
from liza.store.locate import FOLDER
from liza.text import escape_surrogates, file_name, plural

COMMITS = 50  # that a plan lists


class Plan(NamedTuple):
    tree: Worktree
    target: Target
    saved: str  # the reference that keeps the present content
    message: str
    paths: tuple[str, ...]
    forced: tuple[str, ...]  # ignored files that are in the way
    changes: tuple[Change, ...]  # from the base to now
    commits: tuple[str, ...]  # the newest that leave the branch
    others: tuple[str, ...]  # all that leave it and are not the slice's own
    base: RecordedBase
    notes: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        return bool(self.changes or self.commits or self.tree.commit != self.target.commit)


def make_plan(
    tree: Worktree, target: Target, base: RecordedBase, began: Mapping[str, Any], name: str, now: datetime,
    own: frozenset[str],
) -> Plan:  # fmt: skip
    """Plan a rollback of slice `name` to its base; `Refused`, with the fix, where it is not possible.

    `began` is where the slice as a whole began. `own` are the files that it alone touched: a commit that changes
    another one is not the slice's own.
    """
    busy = worktree.unfinished(tree)
    if busy is not None:
        hint = f"finish or abort it first: git -C {shlex.quote(tree.top)} status"
        raise Refused(f"{tree.top} is in the middle of {busy}; nothing was changed", hint=hint)
    require_branch(tree, began, name)
    if ask(tree.top, "config", "--bool", "core.sparseCheckout") == b"true\n":
        hint = f"git -C {shlex.quote(tree.top)} sparse-checkout disable"
        raise Refused(f"{tree.top} is a sparse checkout; nothing was changed", hint=hint)
    spared = dict.fromkeys(worktree.hidden(tree), "git is set to skip it (skip-worktree or assume-unchanged)")
    changes = worktree.changes_since(tree, target.content)
    forced = tuple(_in_the_way(tree, changes))
    if forced:
        changes = worktree.changes_since(tree, target.content, forced)
    if any(os.path.basename(change.path) == ".gitignore" for change in changes):
        added = [change.path for change in changes if change.status == "A"]
        ignored = worktree.once_ignored(tree, target.content, added)
        spared |= dict.fromkeys(ignored, "git ignored it when the slice began")
    filtered = worktree.filtered(
        tree, [*worktree.differing(tree), *(each.path for each in changes if not each.is_repository)], target.content
    )
    spared |= {path: _why_filtered(tree, target, path, name) for path, name in filtered.items()}
    changes = [change for change in changes if not worktree.is_in(change.path, spared)]
    commits = list(_commits(tree, target.commit))
    return Plan(
        tree=tree,
        target=target,
        saved=_free_name(tree, f"{REFS}/saved/{file_name(name)}/{now:%Y%m%dT%H%M%SZ}"),
        message=f"liza: slice {name} before its rollback",
        paths=(*worktree.everything(tree), *(f":(exclude,top,literal){path}" for path in spared)),
        forced=forced,
        changes=tuple(changes),
        commits=tuple(each.title for each in commits[:COMMITS]),
        others=tuple(each.title for each in commits if each.is_merged or not own >= each.files),
        base=base,
        notes=tuple(_notes(tree, target, changes, spared)),
    )


def _why_filtered(tree: Worktree, target: Target, path: str, name: str) -> str:
    why = f"git uses the filter {name} for it, which liza does not run"
    if ask(tree.top, "cat-file", "-e", f"{target.content}:{path}") is None:
        return why
    words = ["git", "-C", tree.top, "restore", f"--source={target.content}", "--", f":(top,literal){path}"]
    return f"{why}; to restore it: {shlex.join(words)}"


def require_own_commits(plan: Plan, name: str) -> None:
    """`Refused`, with the list of commits, where a rollback would remove the work of others from the branch."""
    if not plan.others:
        return
    count = plural(len(plan.others), "commit")
    message = (
        f"the rollback would remove {count} from the branch that slice {name} did not make alone; nothing was changed"
    )
    listed = [f"not the slice's own: {each}" for each in plan.others[:COMMITS]]
    more = len(plan.others) - COMMITS
    listed += [f"and {plural(more, 'more commit')}"] if more > 0 else []
    hint = "--force removes them too, and keeps them in refs/liza/; or revert the slice's own commits by hand"
    problems = [Problem(each, plan.tree.top) for each in (message, *listed)]
    problems[-1] = problems[-1]._replace(hint=hint)
    error = Refused(message, hint=hint, file=plan.tree.top, problems=problems)
    error.fields["others"] = list(plan.others)
    raise error


def _in_the_way(tree: Worktree, changes: Sequence[Change]) -> Iterator[str]:
    """Ignored files that are in the way of a restored one: they are saved too."""
    seen = {change.path for change in changes if change.status != "D"}
    found: dict[str, None] = {}
    for change in changes:
        if change.status == "D":
            found |= dict.fromkeys(path for path in _existing_at(tree.top, change.path) if path not in seen)
    yield from found


def _existing_at(top: str, path: str) -> Iterator[str]:
    parts = path.split("/")
    for above in ("/".join(parts[:n]) for n in range(1, len(parts))):
        full = os.path.join(top, above)
        if os.path.islink(full) or (os.path.lexists(full) and not os.path.isdir(full)):
            yield above
            return
    here = os.path.join(top, path)
    if os.path.isdir(here) and not os.path.islink(here):
        for folder, folders, files in os.walk(here):
            if ".git" in folders or ".git" in files:
                hint = f"move {folder} away first"
                raise Refused(f"a repository is in the way of {path}: {folder}", hint=hint)
            links = [each for each in folders if os.path.islink(os.path.join(folder, each))]
            yield from (os.path.relpath(os.path.join(folder, each), top) for each in (*files, *links))
    elif os.path.lexists(here):
        yield path


def _free_name(tree: Worktree, ref: str) -> str:
    number, name = 1, ref
    while resolve_commit(tree, name) is not None:
        number += 1
        name = f"{ref}-{number}"
    return name


class _Commit(NamedTuple):
    title: str
    files: frozenset[str]
    is_merged: bool  # a merge brought it; its files, too, are among those that changed since the last attempt


def _commits(tree: Worktree, since: str | None) -> Iterator[_Commit]:
    """The commits that leave the branch, each with its files; of a merge, those that are as in no parent."""
    if tree.commit is None or tree.commit == since:
        return
    span = [f"{since}..HEAD"] if since is not None else ["HEAD"]
    words = ("log", "-c", "-r", "-z", "--raw", "--root", "--no-renames", "--no-show-signature", "--format=%H %h %s")
    line = set(run(tree.top, "rev-list", "--first-parent", *span).split())
    commit, title, files = "", None, set()
    parts = iter(run(tree.top, *words, *span).split("\0"))
    for part in parts:
        if part.lstrip("\n").startswith(":"):  # modes and hashes; the path is the next part, whatever is in it
            files.add(next(parts, ""))
        elif part:
            if title is not None:
                yield _Commit(title, _outside_boards(files), commit not in line)
            (commit, _, title), files = part.lstrip("\n").partition(" "), set()
    if title is not None:
        yield _Commit(title, _outside_boards(files), commit not in line)


def _outside_boards(files: Iterable[str]) -> frozenset[str]:
    """The paths as the blackboard has them, without what a rollback never touches."""
    return frozenset(os.path.normpath(escape_surrogates(file)) for file in files if FOLDER not in file.split("/"))


def _notes(tree: Worktree, target: Target, changes: Sequence[Change], spared: Mapping[str, str]) -> Iterator[str]:
    for path, why in spared.items():
        yield f"{path} is left unchanged: {why}"
    for change in changes:
        if change.is_repository:
            fix = shlex.join(["git", "submodule", "update", "--init", change.path])
            yield f"the submodule {change.path} is left unchanged; to fix: {fix}"
    if target.commit is not None and tree.commit is not None:
        base = (ask(tree.top, "merge-base", target.commit, tree.commit) or b"").decode().strip()
        if base != target.commit:
            yield "the base is not an ancestor of the branch: it was rebased or amended since"


# --- in words -------------------------------------------------------------------------------------------------------


def shell_commands(plan: Plan) -> list[str]:
    """The plan as a person would type it; what they do, liza does."""
    tree, target = plan.tree, plan.target
    paths = shlex.join(plan.paths)
    forced = shlex.join([f":(top,literal){path}" for path in plan.forced])
    parent = "-p HEAD " if tree.commit else ""
    return [
        f"cd {shlex.quote(tree.top)}",
        "staged=$(git write-tree)",
        'export GIT_INDEX_FILE="$(git rev-parse --absolute-git-dir)/liza-index"',
        'git read-tree "$staged"',
        f"git add --all -- {paths}",
        *([f"git add --force -- {forced}"] if plan.forced else []),
        f'saved=$(git commit-tree {parent}-m {shlex.quote(plan.message)} "$(git write-tree)")',
        'rm "$GIT_INDEX_FILE" && unset GIT_INDEX_FILE',
        f'git update-ref {plan.saved} "$saved"',
        'git read-tree --reset -i "$saved"',  # keeps the flags of each index entry
        f"git restore --source={target.content} --staged --worktree -- {paths}",
        *_last(plan),
    ]


def _last(plan: Plan) -> list[str]:
    target = plan.target
    if target.commit is None:
        return ["git update-ref -d HEAD", "git read-tree --empty"]
    return [f"git reset --soft {target.commit}", f"git read-tree --reset -i {target.staged or target.commit}"]


def restore_command(plan: Plan) -> str:
    """The command that brings back what a rollback put away."""
    words = ["git", "-C", plan.tree.top, "restore", f"--source={plan.saved}", "--worktree", "--", *plan.paths]
    return shlex.join(words)


# --- doing it -------------------------------------------------------------------------------------------------------


def roll_back(plan: Plan) -> str:
    """Save what is there, then go back; the commit that keeps it. An error names the command that restores all."""
    tree, target = plan.tree, plan.target
    saved = commit_content(tree, worktree.capture(tree, plan.forced), plan.message)
    run(tree.top, "update-ref", plan.saved, saved)
    try:
        run(tree.top, "read-tree", "--reset", "-i", saved)
        run(tree.top, "restore", f"--source={target.content}", "--staged", "--worktree", "--", *plan.paths)
        for line in _last(plan):
            run(tree.top, *line.split()[1:])
    except Refused as error:
        hint = f"all that was there is kept: {restore_command(plan)}"
        raise Refused(f"the rollback is not complete: {error.message}", hint=hint) from None
    ask(tree.top, "update-index", "-q", "--refresh")
    return saved
