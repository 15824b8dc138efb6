"""Reading the shipped packs and the blackboard's own `rules.yaml`."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import liza.rules
from liza.errors import Overrun, Refused, Unreadable
from liza.model import MAPPINGS, Path, Problem
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.load import PACKS, BadRules, Source, load
from liza.rules.time_limit import DEFAULT_SECONDS, TimeLimit
from liza.schema.rules_form import rules_in
from liza.store.document import Document, parse
from liza.store.parser import BOM
from liza.store.versions import read_stable
from liza.text import did_you_mean, value_text

_LARGEST = 100_000  # bytes: the rules are compiled before anything is evaluated, which takes a second for this many
_MOST_SECONDS = 10.0
_NO = ("false", "no", "0")


def read_rules(
    own: str | None, *, protocol: str | None = None, must_exist: bool = False, config: str | None = None
) -> RuleSet:
    """The active rules for a blackboard; `Unreadable` with all that is wrong with them.

    With `protocol` the packs of the other protocols are not read, unless `own` changes rules.
    `config` is a file whose blocks for loops take the place of those in `own`.
    """
    folder = os.path.join(os.path.dirname(liza.rules.__file__), "packs")
    try:
        mine = _source(own) if own is not None and (must_exist or os.path.lexists(own)) else None
        packs = PACKS if protocol is None or (mine is not None and rules_in(mine.data) is not None) else (protocol,)
        sources = [_source(os.path.join(folder, f"{name}.yaml")) for name in packs]
        rules = load(sources, mine)
        if protocol is not None:
            rules = with_time_limit(rules)
        return rules if config is None else rules._replace(blocks=_blocks_of(config, sources))
    except BadRules as error:
        raise Unreadable.like(error.problems[0], error.problems) from None


def circuit_config() -> str | None:
    """The file whose blocks for loops take the place of those in rules.yaml."""
    return os.environ.get("CIRCUIT_CONFIG") or None


def _blocks_of(config: str, packs: Sequence[Source]) -> Mapping[str, Mapping[str, Any]]:
    try:
        return load(packs, _source(config)).blocks
    except BadRules as error:
        found = Unreadable.like(error.problems[0], error.problems)
    except Unreadable as error:
        found = error
    problems = [each._replace(message=f"CIRCUIT_CONFIG: {each.message}") for each in found.problems]
    raise Unreadable.like(found, problems, message=f"CIRCUIT_CONFIG: {found.message}")


def protocol_rules(own: str, protocol: str) -> tuple[RuleSet, Unreadable | None]:
    """The rules of one protocol; where the file cannot be used, the shipped ones, and what is wrong with it."""
    try:
        return read_rules(own, protocol=protocol), None
    except Unreadable as error:
        return read_rules(None, protocol=protocol), error


def find_rule(rules: RuleSet, name: str, known: Sequence[Compiled]) -> Compiled:
    """One of these rules; `Refused` where it is disabled, or not among them."""
    for each in known:
        if each.rule.name == name:
            return each
    if any(each.name == name for each in rules.disabled):
        raise Refused(f"the rule {name} is disabled", hint="enable it in .liza/rules.yaml; see: liza rules list")
    hint = did_you_mean(name, [each.rule.name for each in known], "list them with: liza rules list")
    raise Refused(f"unknown rule {value_text(name)}", hint=hint)


def without_steps(rules: RuleSet) -> RuleSet:
    """Without the shipped rules about everyone's steps: no session was ever seen on this blackboard."""
    kept = [each for each in rules.rules if each.rule.name in rules.custom or "steps" not in each.condition.streams]
    return rules._replace(rules=tuple(kept))


def rules_in_force(own: str) -> tuple[RuleSet, Unreadable | None]:
    """The rules of a blackboard; where its rules.yaml cannot be used, the shipped ones, and what is wrong with it.

    A broken file must not disable the breaker: the shipped rules are evaluated and halt, and the caller reports
    DEGRADED.
    """
    broken: Unreadable | None = None
    try:
        rules = read_rules(own, config=circuit_config())
    except Unreadable as error:
        broken = error
        try:
            rules = read_rules(own)  # it is the other file that is broken
        except Unreadable:
            rules = read_rules(None)
    if not os.path.isdir(os.path.join(os.path.dirname(own), "steps")):
        rules = without_steps(rules)
    return with_time_limit(rules), broken


def with_time_limit(rules: RuleSet) -> RuleSet:
    """The rules with a time limit for custom ones; a replay has none."""
    block = rules.blocks.get("limits") or {}
    # Agents can write the file, and while custom rules are evaluated the daemon sees no new record.
    wanted = min(block.get("own_rules_seconds", DEFAULT_SECONDS), _MOST_SECONDS)
    try:
        seconds = float(os.environ.get("LIZA_LIMIT_OWN_RULES_SECONDS") or wanted)
    except ValueError:
        seconds = DEFAULT_SECONDS
    return rules._replace(time_limit=TimeLimit(seconds, time.monotonic))


def overrun(rules: RuleSet, own: str) -> Overrun | None:
    """Why not all rules could be evaluated, for the caller to report as DEGRADED; None if they were."""
    overruns = rules.time_limit.overruns if rules.time_limit is not None else {}
    hint = "make the rule simpler or remove it, or move old records out of state.yaml; the time for custom rules is"
    hint = f"{hint} limits.own_rules_seconds in {own}"
    problems = [
        Problem(f"rule {name} was not evaluated fully: {why}", own, None, None, hint) for name, why in overruns.items()
    ]
    return Overrun(problems[0].message, hint=hint, file=own, problems=problems) if problems else None


def halts_when_degraded(own: str) -> bool:
    """Whether `on_degraded: halt` is set. By its line alone: it holds for a file of rules that cannot be used, too."""
    return (os.environ.get("LIZA_ON_DEGRADED") or _word_of(own, "on_degraded")) == "halt"


def on_halt(own: str) -> str:
    """What a client's hook does with a call while agents are halted: wait, block or end."""
    from liza.schema.rules_yaml import ON_HALT

    wanted = os.environ.get("LIZA_ON_HALT") or _word_of(own, "on_halt")
    return wanted if wanted in ON_HALT else ON_HALT[0]


def starts_daemon(own: str) -> bool:
    return (os.environ.get("LIZA_START_DAEMON") or _word_of(own, "start_daemon")) not in _NO


def follows_transcripts(blocks: Mapping[str, Any]) -> bool:
    """Whether the daemon follows the transcripts of clients."""
    named = os.environ.get("LIZA_FOLLOW_TRANSCRIPTS")
    if named:
        return named not in _NO
    return (blocks.get("transcripts") or {}).get("follow", True) is True


def _word_of(own: str, key: str) -> str | None:
    """The word behind a key at the start of a line: it holds for a file of rules that cannot be used, too."""
    try:
        found = re.search(rf"^{key}:[ \t]*[\"']?(\w+)".encode(), read_stable(own).raw, re.MULTILINE)
    except Unreadable:
        return None
    return found[1].decode() if found is not None else None


def notify_problems(own: str) -> tuple[Problem, ...]:
    """What is wrong with the notification targets in a file of rules.

    No rule depends on them, so it is not an error of the rules; but people would wait for messages in vain.
    """
    from liza.notify.targets import read_block, split_faults
    from liza.schema.snapshot import locate_faults

    data = _source(own).data if os.path.lexists(own) else {}
    if not isinstance(data, MAPPINGS):
        return ()
    stagnation = data.get("stagnation")
    for_run = stagnation.get("notifications") if isinstance(stagnation, MAPPINGS) else None
    blocks: dict[Path, Any] = {("notify",): data.get("notify"), ("stagnation", "notifications"): for_run}
    if not any(blocks.values()):
        return ()
    project = os.path.dirname(os.path.dirname(os.path.abspath(own)))
    _, faults = split_faults(each for path, block in blocks.items() for each in read_block(block, project, path))
    return locate_faults(parse(read_stable(own).raw, own), faults)


def _source(file: str) -> Source:
    try:
        raw = read_stable(file).raw
    except Unreadable as error:
        error.hint = "name a file of rules; see docs/rules.md for how one is written"
        raise
    if len(raw) > _LARGEST:
        message = f"too large to be evaluated: {len(raw):,} bytes, the limit for rules is {_LARGEST:,}"
        raise Unreadable(message, hint="remove the rules that you do not need", file=file)
    lines = (line.strip() for line in raw.removeprefix(BOM).splitlines())
    if all(not line or line.startswith(b"#") or line == b"---" for line in lines):
        return Source(file, {}, lambda path, offset: (None, None))  # everything commented out, as it comes
    try:
        document = parse(raw, file)
    except Unreadable as error:
        error.hint = f"correct that line, then run: liza rules check {file}"
        if error.line is None:
            error.hint = "a file of rules holds keys like 'rules:' at the start of a line; see docs/rules.md"
        raise
    return Source(file, document.data, lambda path, offset: _locate(document, path, offset))


def _locate(document: Document, path: Path, offset: int | None) -> tuple[int | None, int | None]:
    if offset is not None:
        return document.locate_inside(path, offset)
    return document.locate(path) or (None, None)
