"""From packs and `.liza/rules.yaml` to the active rules.

Every error of a file is found in one go, with the line and column of each. Keys that are not known are errors: a
misspelt `conditon` would otherwise be a rule that never fires.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import Path, Problem, Rule, list_in
from liza.rules.conditions import BadRule, Condition
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.parsed_packs import TREES
from liza.rules.syntax_tree import BadCondition, Node
from liza.schema.actions import Action
from liza.schema.rules_form import PATTERNS, in_our_form, rules_in, rules_path
from liza.schema.severities import SEVERITIES
from liza.scope_names import IN_FILES, ON_BOARD, SCOPES
from liza.text import did_you_mean, number_text, value_text


class Source(NamedTuple):
    """A file of rules as it was read."""

    file: str
    data: Mapping[str, Any]
    # Line and column of a key, or of a position inside its text.
    locate: Callable[[Path, int | None], tuple[int | None, int | None]]


# The order in which their rules are evaluated.
PACKS = ("systemic", "alarms", "tasks", *(each.pack for each in (*ON_BOARD, *IN_FILES)), "budgets")
_PARAM = re.compile(r"\$(\w+)")
EVERYONE = "everyone"  # in place of a protocol: the rules that warn every session of what all have used together
_NO_SEVERITY = f"add severity: {', '.join(SEVERITIES)}; or action: ALERT, which halts no one"
_MOST_PROBLEMS = 100  # of one file: to locate each takes time, and agents can write thousands


class BadRules(ValueError):
    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} errors")
        self.problems = tuple(problems)


def load(packs: Sequence[Source], own: Source | None = None) -> RuleSet:
    """The rules of the packs, as the blackboard's own file changes them; `BadRules` with everything wrong in it."""
    files = [_File(source, is_pack=True) for source in packs]
    shipped = _merged(files)
    mine = _File(own) if own is not None and own.data else None  # one in which all is commented out changes nothing
    if mine is not None:
        _forbid_keys_of_packs(mine)
        _keep_fixed(files, mine)
    everything = _merged([*files, mine]) if mine is not None else shipped
    problems = [problem for file in [*files, *([mine] if mine else [])] for problem in file.problems]
    compiled: list[Compiled] = []
    alarms: list[Compiled] = []
    scoped: dict[str, list[Compiled]] = {}
    disabled: list[Rule] = []
    ours = {name for file in files if file.data.get("alarms") for _, given in file.rules if (name := given["name"])}
    homes = {
        given["name"]: file.data["protocol"] for file in files if "protocol" in file.data for _, given in file.rules
    }
    for entry in (each for each in everything.values() if not each.is_off):
        rule, condition, found = _compile(entry, tuple(shipped))
        problems += found
        if rule is not None and entry.fields.get("enabled") is False:
            disabled.append(rule)
        elif rule is not None and condition is not None:
            # An alarm that was given another action is a pattern like any other.
            is_alarm = rule.name in ours and rule.action == Action.ALERT
            home = _protocol_of(rule, condition, homes.get(rule.name))
            chosen = alarms if is_alarm else compiled if home is None else scoped.setdefault(home, [])
            chosen.append(Compiled(rule, condition))
    if problems:
        raise BadRules(sorted(problems, key=lambda each: (each.file, each.line or 0, each.column or 0)))
    settings: dict[str, Any] = {}
    for file in (*files, *([mine] if mine else [])):
        settings |= {key: file.data[key] for key in ("window", "matching") if key in file.data}
    blocks, changes = _settings(mine) if mine is not None else ({}, ())
    if mine is not None:
        changes = (*_changed_settings(files, mine), *_changed_rules(shipped, everything), *changes)
    return RuleSet(
        tuple(compiled),
        tuple(disabled),
        settings.get("window", "current_sprint"),
        settings.get("matching") == "exact",
        tuple(alarms),
        tuple(changes),
        mine.data.get("notify") or {} if mine else {},
        {home: tuple(rules) for home, rules in scoped.items()},
        blocks,
        frozenset(name for name, entry in everything.items() if _is_custom(entry, shipped.get(name))),
    )


def _forbid_keys_of_packs(mine: "_File") -> None:
    for key in ("alarms", "protocol", "fixed", "optional"):
        if key in mine.data:
            hint = "give the rule an action: ALERT, FREEZE, STOP or OPEN"
            mine.wrong((key,), f"the key '{key}' is only allowed in packs", hint)


def _settings(mine: "_File") -> tuple[Mapping[str, Mapping[str, Any]], Iterable[str]]:
    """The settings of the protocols in a blackboard's own file, and how they differ from the defaults."""
    from liza.schema.rules_yaml import BLOCKS, changed_settings

    blocks = {key: mine.data[key] for key in BLOCKS if key in mine.data}
    return blocks, changed_settings(blocks)


def _protocol_of(rule: Rule, condition: Condition, home: str | None) -> str | None:
    """Whose trips a rule causes; None if it halts the sprint. `home` is the protocol of its pack."""
    if home is not None:
        # The same error in many sessions halts everyone.
        return None if home == "sessions" and rule.action == Action.CHECKPOINT else home
    if rule.action == Action.WARN and condition.streams == {"usage"} and not condition.is_per("session"):
        return EVERYONE
    able = [each for each in SCOPES if rule.action in each.actions]
    own = [each for each in able if not condition.streams.isdisjoint(each.streams)]
    return (own or able)[-1].pack if able else None


def _keep_fixed(files: "Sequence[_File]", mine: "_File") -> None:
    """Some rules are the protocol itself: a file that changes one is refused."""
    fixed = {name for file in files for name in file.data.get("fixed") or ()}
    for index, given in mine.rules:
        if given["name"] in fixed:
            message = f"the rule {given['name']} cannot be changed or disabled: it is part of its protocol"
            hint = "remove it from this file; a custom rule, under another name, may stop earlier"
            mine.wrong((*mine.rules_path, index, "name"), message, hint)


def _budget_params(data: Mapping[str, Any]) -> Mapping[str, float]:
    if not data.get("budgets"):
        return {}
    from liza.schema.budgets import budget_params  # few files have any

    return budget_params(data)


def _merged(files: "Sequence[_File]") -> "dict[str, _Entry]":
    """Later files change what earlier ones say, key by key. In one file a rule's own param beats the file's."""
    found: dict[str, _Entry] = {}
    for file in files:
        common = {**_budget_params(file.data), **(file.data.get("params") or {})}
        found = {name: entry._replace(params={**entry.params, **common}) for name, entry in found.items()}
        for index, given in file.rules:
            before = found.get(given["name"])
            fields = {"origin": file.source.file, **(before.fields if before else {}), **given}
            params = {**(before.params if before else common), **(given.get("params") or {})}
            is_optional = before.is_optional if before else file.data.get("optional") is True
            found[given["name"]] = _Entry(fields, params, file, index, is_optional)
    return found


def _changed_settings(files: "Sequence[_File]", mine: "_File") -> Iterator[str]:
    shipped = next((file.data["window"] for file in files if "window" in file.data), "current_sprint")
    if mine.data.get("window", shipped) != shipped:
        yield f"window is {value_text(mine.data['window'])} (default: {value_text(shipped)})"
    if mine.data.get("matching") == "exact":
        yield "matching is 'exact': texts must be equal to be the same"


def _changed_rules(shipped: "Mapping[str, _Entry]", now: "Mapping[str, _Entry]") -> Iterator[str]:
    """What a blackboard's own file changes in the shipped rules."""
    for name, before in shipped.items():
        fields, defaults = now[name].fields, Rule._field_defaults
        if fields.get("enabled") is False:
            yield f"{name} is disabled"
        for key in ("condition", "severity", "action", "mode", "window", "rearm"):
            was, is_now = (_plain(each.get(key, defaults.get(key))) for each in (before.fields, fields))
            if was != is_now:
                shipped_text = value_text(was or "that of the pack", 120)
                yield f"{name}: {key} is {value_text(is_now, 120)} (default: {shipped_text})"
        for param, value in now[name].params.items() if not before.is_optional else ():
            if f"${param}" in str(fields.get("condition")) and before.params.get(param) != value:
                yield f"{name}: ${param} is {number_text(value)} (default: {before.params.get(param, 'none')})"


def _is_custom(entry: "_Entry", before: "_Entry | None") -> bool:
    """Whether a condition, or how long a window it looks at, is not what is shipped."""
    return before is None or any(entry.fields.get(key) != before.fields.get(key) for key in ("condition", "window"))


def _plain(value: Any) -> Any:
    """Without the line breaks of a long condition."""
    return " ".join(value.split()) if isinstance(value, str) else value


def _compile(entry: "_Entry", shipped: Sequence[str]) -> tuple[Rule | None, Condition | None, list[Problem]]:
    fields, file = entry.fields, entry.file
    path: Path = (*file.rules_path, entry.place)
    problems: list[Problem] = []
    condition: Condition | None = None
    if isinstance(fields.get("condition"), str) and (*path, "condition") not in file.faulty:
        try:
            condition = Condition(_tree(fields["condition"]), entry.params)
        except BadCondition as error:
            message = f"rule {fields['name']}: {error.message}"
            problems.append(file.problem((*path, "condition"), message, error.hint, error.offset))
        except BadRule as error:
            wanted = str(error).partition("$")[2].partition(" ")[0]
            hint = did_you_mean(f"${wanted}", [f"${name}" for name in entry.params])
            problems.append(file.problem((*path, "condition"), f"rule {fields['name']}: {error}", hint))
    needed = (
        ("condition", "severity") if fields.get("action", Action.CHECKPOINT) == Action.CHECKPOINT else ("condition",)
    )
    missing = [n for n in needed if fields.get(n) is None and (*path, n) not in file.faulty]
    if missing:
        message = f"the rule {value_text(fields['name'])} has no {' and no '.join(missing)}"
        hint = _NO_SEVERITY if "severity" in missing else None
        problems.append(file.problem((*path, "name"), message, did_you_mean(fields["name"], shipped, hint)))
    if problems or missing or condition is None:
        return None, None, problems
    chosen = {name: _plain(fields[name]) for name in Rule._fields if name in fields}
    return Rule(**chosen), condition, []


def _tree(condition: str) -> Node:
    """The tree of a condition. Those of the shipped rules were parsed beforehand."""
    known = TREES.get(condition)
    if known is not None:
        return known
    from liza.rules.language import parse

    return parse(condition)


class _File:
    """One file of rules: its entries that can be used, and what is wrong with the others."""

    def __init__(self, source: Source, *, is_pack: bool = False) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.faulty: set[Path] = set()
        self.rules_path = rules_path(source.data)
        if not is_pack:  # a test checks those, and the tables take as long to load as the packs
            self._check_schema()
        # Of a faulty block nothing is used, of a faulty rule the fields without a fault.
        usable = {key: value for key, value in source.data.items() if value is not None and not self.is_faulty((key,))}
        self.data = in_our_form(usable)
        self.rules: list[tuple[int, Mapping[str, Any]]] = []
        for index, rule in enumerate(list_in(rules_in(source.data))):
            if isinstance(rule, Mapping):
                self.rule(index, rule)

    def _check_schema(self) -> None:
        from liza.schema.rules_yaml import FILE
        from liza.schema.walker import walk

        for fault in walk(self.source.data, (), FILE):
            self.wrong(fault.path, f"{self._whose(fault.path)}{fault.message}", fault.hint)

    def _whose(self, path: Path) -> str:
        """`rule own: ` for a path inside a rule that has a name, `prices.my-model: ` for one inside a block."""
        start = len(self.rules_path)
        if path[:start] != self.rules_path:
            if len(path) < 2 or path[0] == PATTERNS:  # its messages name it
                return ""
            return ".".join(value_text(str(key)).strip("'") for key in path[:-1]) + ": "
        if len(path) < start + 2 or path[start + 1] == "name":
            return ""
        name = value_text(rules_in(self.source.data)[path[start]].get("name")).strip("'")
        return f"rule {name}: "

    def problem(self, path: Path, message: str, hint: str | None = None, offset: int | None = None) -> Problem:
        line, column = self.source.locate(path, offset)
        return Problem(message, self.source.file, line, column, hint)

    def wrong(self, path: Path, message: str, hint: str | None = None) -> None:
        self.faulty.add(path)
        self.problems.append(self.problem(path, message, hint))
        if len(self.problems) >= _MOST_PROBLEMS:
            raise BadRules(self.problems)

    def is_faulty(self, path: Path) -> bool:
        """Whether something is wrong at this path or below it."""
        return any(each[: len(path)] == path for each in self.faulty)

    def rule(self, index: int, given: Mapping[str, Any]) -> None:
        path: Path = (*self.rules_path, index)
        if self.is_faulty((*path, "name")):
            return
        if any(given["name"] == other["name"] for _, other in self.rules):
            self.wrong((*path, "name"), f"the rule {given['name']} is already in this file")
            return
        self.rules.append((index, {key: value for key, value in given.items() if not self.is_faulty((*path, key))}))


class _Entry(NamedTuple):
    """A rule as the files together have it, and where it was written last."""

    fields: Mapping[str, Any]
    params: Mapping[str, float]
    file: _File
    place: int  # among the rules of that file
    is_optional: bool = False  # off as long as a param of its condition has no value

    @property
    def is_off(self) -> bool:
        wanted = _PARAM.findall(str(self.fields.get("condition"))) if self.is_optional else ()
        return any(name not in self.params for name in wanted)
