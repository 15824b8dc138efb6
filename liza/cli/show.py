"""How checks and trips look on a terminal: the same words, symbols and columns in every command."""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from liza.check import Check
from liza.cli.terminal import echo, style, unstyle
from liza.errors import LizaError, Overrun, location
from liza.model import Problem, Progress, Reason, Silence, Silenced, format_time
from liza.rules.evaluate import RuleSet
from liza.schema.severities import SEVERITIES
from liza.scopes.history.section import also_matched
from liza.scopes.transition import Event
from liza.text import cut as cut_text
from liza.text import of_text, one_line, plural, printable, some_of

_COLOUR = re.compile("(\x1b\\[[0-9;]*m)")
LONG = 600  # characters of a message or a condition that are shown
_STOPPED = 5  # sessions, claims, slices and loops that the first line names
_GROUPS = 4  # of one rule, besides its first
DECIDE = "liza resolve -m 'what was decided'"


def check(found: Check, rules: RuleSet, dry_run: bool) -> None:
    """The verdict first, then how close each pattern is, then what else there is to say."""
    verdict = found.verdict
    if found.trigger is not None:
        trigger(found.trigger, "TRIGGERED")
    elif verdict.matches:
        names = ", ".join(dict.fromkeys(match.rule.name for match in verdict.matches))
        echo(f"{bold('WOULD TRIP', 'red')}: {names} (dry run, nothing written)")
    elif stopped := [f"{event.scope} {printable(event.name)}" for event in found.scoped if event.stops]:
        word, note = ("WOULD STOP", " (dry run, nothing written)") if dry_run else ("STOPPED", "")
        echo(f"{bold(word, 'red')}: {some_of(stopped, _STOPPED)}; no systemic pattern{note}")
    else:
        echo(bold("OK", "green") + ": no systemic pattern" + (" (dry run, nothing written)" if dry_run else ""))
    patterns(verdict.progress)
    parts = [f"{verdict.considered} {'anomaly' if verdict.considered == 1 else 'anomalies'} considered"]
    parts += [f"{verdict.acknowledged} acknowledged by earlier resolutions"] if verdict.acknowledged else []
    parts += [f"{verdict.outside_window} before the window"] if verdict.outside_window else []
    echo(f"\n{', '.join(parts)} (window: {verdict.window})")
    silenced(verdict.silenced)
    for match in verdict.observed:
        echo(f"observed: {match.rule.name} {of_text(match.value, match.threshold)} ({short(match.key)})")
    warnings([*verdict.warnings, *(f"{where(record)}: {why}" for record, why in verdict.unusable)])
    warnings(due(event) if dry_run else event.text for event in found.scoped)
    warnings(found.notes)
    warnings(f"rules.yaml: {change}" for change in rules.changes)
    problems = len(found.snapshot.problems)
    if problems:
        warnings([f"{problems} problem{'s' if problems > 1 else ''} on the blackboard: see liza validate"])


def broken_rules(error: LizaError | None) -> None:
    """What is wrong with rules.yaml, or with CIRCUIT_CONFIG; whether defaults had to take its place."""
    if error is not None:
        from shlex import quote

        for problem in error.problems or (error,):
            where_it_is = location(problem.file, problem.line, problem.column)
            echo(f"liza: {printable(where_it_is + problem.message)}", err=True)
            if problem.hint:
                echo(f"  hint: {printable(problem.hint)}", err=True)
        if isinstance(error, Overrun):
            return
        file = f" {printable(quote(os.path.relpath(error.file)))}" if error.file else ""
        echo(f"  hint: this file is ignored and the defaults apply; to fix: liza rules check{file}", err=True)


def due(event: Event) -> str:
    """What an edit by hand amounts to, before a check puts it into effect."""
    return f"the next check records (liza analyze): {event.text}"


def trigger(open_trip: Mapping[str, Any], word: str) -> None:
    """The trip that waits for a person, and how to decide it."""
    severity = str(open_trip.get("severity") or "no severity named")
    pattern = printable(str(open_trip.get("pattern") or "no pattern named"))
    since = f" since {printable(str(open_trip['timestamp']))}" if open_trip.get("timestamp") else ""
    echo(f"{bold(word, 'red')}: {bold(pattern)} ({printable(severity)}){since}")
    if severity in SEVERITIES:
        echo(f"  layer: {SEVERITIES[severity].layer}; procedure: {SEVERITIES[severity].remediation}")
    if open_trip.get("message"):
        echo(f"  message: {short(open_trip['message'])}")
    if others := also_matched(open_trip):
        echo(f"  also matched: {short(', '.join(others))}")
    echo(f"  report: {printable(str(open_trip.get('report_file') or '.liza/circuit_breaker_report.md'))}")
    echo(f"  decide: {DECIDE}")


def patterns(progress: Iterable[Progress]) -> None:
    """One line per rule: a mark, how close it is, and what the fullest group is about."""
    for line in pattern_lines(progress):
        echo(line)


def pattern_lines(progress: Iterable[Progress], *, other_groups: bool = True) -> list[str]:
    """The same, as lines that fit the terminal."""
    rows = list(progress)
    width = max((len(each.rule.name) for each in rows), default=0)
    wide = max((len(_near(each)) for each in rows), default=0)
    room = max(columns() - width - wide - 8, 20)
    lines = []
    for each in rows:
        about = cut_text(_about(each, room), room)
        lines.append(f"  {_mark(each)} {each.rule.name:<{width}}  {_near(each):<{wide}}  {about}".rstrip())
        if other_groups:
            lines += [f"{'':{width + 6}}{line}" for line in _other_groups(each, wide, room)]
    return lines


def _other_groups(each: Progress, wide: int, room: int) -> list[str]:
    """A line for each further group that matched or is as near."""
    others = [group for group in each.groups if group.key != each.key] if each.key is not None else []
    lines = [
        f"{of_text(group.value, each.threshold):<{wide}}  {_group_text(group.key, group.tasks, room)}"
        for group in others[:_GROUPS]
    ]
    return lines + ([f"and {plural(len(others) - _GROUPS, 'more group')}"] if len(others) > _GROUPS else [])


def state(found: Check) -> list[str]:
    """The state of the breaker, in a line or two."""
    if found.trigger is None:
        return [f"breaker: {bold('OK', 'green')}"]
    pattern, severity = (printable(str(found.trigger.get(name) or "?")) for name in ("pattern", "severity"))
    return [f"{bold('TRIGGERED', 'red')}: {bold(pattern)} ({severity})", f"  decide: {DECIDE}"]


def silenced(matches: Iterable[Silenced]) -> None:
    """Matches that would have tripped: who keeps them from it, until when, and why."""
    for match, silence in matches:
        what = f"{match.rule.name} {of_text(match.value, match.threshold)} ({short(match.key or 'no group')})"
        why = f"until {format_time(silence.until)} by {short(silence.by)}: {short(silence.reason)}"
        echo(f"{bold('silenced', 'yellow')}: {what} {why} [{short(silence.id)}]")


def silence(each: Silence) -> str:
    about = ", ".join(f"{name}={value}" for name, value in each.match.items()) or "all matches"
    decision = f"until {format_time(each.until)} by {short(each.by)}: {short(each.reason)}"
    return f"{short(each.rule)} ({short(about)}) {decision} [{short(each.id)}]"


def columns() -> int:
    """The width of the terminal; where the output goes elsewhere, lines may be as long as they are."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if sys.stdout.isatty() else 10_000


def _mark(each: Progress) -> str:
    if each.reason in (Reason.MATCHED, Reason.OBSERVED):
        return style("●", fg="red")
    if each.reason in (Reason.DISABLED, Reason.SILENCED):
        return style("-", fg="yellow")
    return style("◐", fg="yellow") if each.value > 0 else style("○", fg="green")


def _near(each: Progress) -> str:
    return "disabled" if each.reason is Reason.DISABLED else of_text(each.value, each.threshold)


def _about(each: Progress, room: int) -> str:
    key = _key(each.key)
    if each.reason is Reason.ACKNOWLEDGED:
        return "acknowledged"
    if each.value <= 0:
        return ""
    if each.reason is Reason.SILENCED:
        return "  ".join(part for part in ("silenced", key) if part)
    return _group_text(each.key, each.tasks, room)


def _group_text(key: str | None, tasks: Sequence[str], room: int) -> str:
    """What a group is about, and its first tasks, which are not what is cut off."""
    names = ", ".join(short(task) for task in tasks[:4]) + (", ..." if len(tasks) > 4 else "")
    listed = f"[{printable(names)}]" if names else ""
    key = cut_text(_key(key), max(room - len(listed) - 2, room // 2))
    return cut_text("  ".join(part for part in (key, listed) if part), room)


def _key(text: str | None) -> str:
    """What a group is about; of a tool's output its error."""
    if text is not None and "\n" in text:
        from liza.toolerrors.errors import headline

        text = headline(text)
    return short(text) if text else ""


def warnings(lines: Iterable[str], *, err: bool = False) -> None:
    for line in lines:
        echo(f"{bold('!', 'yellow')} {printable(line)}", err=err)


def problems(listed: Iterable[Problem]) -> None:
    """Each with its place, as compilers print it, and what fixes it."""
    for each in listed:
        place = bold(printable(location(each.file, each.line, each.column)))
        level = style(each.level, fg="red" if each.level == "error" else "yellow")
        echo(f"{place}{level}: {short(each.message, LONG)}")
        if each.hint:
            echo(f"  hint: {short(each.hint, LONG)}")


def where(record: Any) -> str:
    return f"{record.stream}[{record.key}]"


def short(text: Any, length: int = 72) -> str:
    """One line of an untrusted text."""
    return one_line(text, length)


def fitted(line: str) -> str:
    """A line cut to the width of the terminal."""
    return cut(line, columns())


def cut(line: str, width: int) -> str:
    """A line that takes this many columns at most, in its colours."""
    if len(unstyle(line)) <= width:
        return line
    parts, room = [], max(width - 1, 0)
    for part in _COLOUR.split(line):
        is_colour = _COLOUR.fullmatch(part)
        parts.append(part if is_colour else part[:room])
        room -= 0 if is_colour else len(parts[-1])
    return "".join(parts) + "…"


def bold(text: str, colour: str | None = None) -> str:
    return style(text, fg=colour, bold=True)
