"""Blackboards that an agent makes to cost time or memory: as large as the limits allow, beside a tripping pattern.

Whatever is on them, the shipped rules must halt within two seconds.
"""

from collections.abc import Callable, Iterable

from tests.security.attack import TRIPPING

BYTES = 8_000_000  # of the 10 MB that a file may have
RECORDS = 19_900  # of 20,000
HEAD = "version: 1\ntasks: []\nanomalies:\n" + TRIPPING
_AT = "timestamp: 2025-01-18T10:00:00Z"


def _record(number: int, text: str, kind: str = "retry_loop", field: str = "error_pattern") -> str:
    return f"- {{{_AT}, task: t{number}, reporter: r, type: {kind}, details: {{{field}: {text}}}}}\n"


def _texts(make: Callable[[int], str], kind: str = "retry_loop", field: str = "error_pattern") -> str:
    """As many records as fit, each with its own text."""
    size = len(_record(0, make(0), kind, field).encode())
    return HEAD + "".join(_record(n, make(n), kind, field) for n in range(min(RECORDS, BYTES // size)))


def _filled(unit: str, length: int = 1200) -> Callable[[int], str]:
    return lambda n: '"' + (f"{n} " + unit * length)[:length] + '"'


def _letters(n: int) -> str:
    out = ""
    while n:
        n, digit = divmod(n, 26)
        out += chr(97 + digit)
    return out or "a"


def _words(n: int) -> str:
    return '"' + " ".join(_letters((n + 7) * (i + 31)) for i in range(60)) + '"'


def _near(n: int) -> str:
    return f'"some {"abcdefgh"[: n % 8]}qwertyuiop{_letters(n)} thing failed"'


def _keys(n: int) -> str:
    return "{" + ", ".join(f"k{n}_{i}: {i}" for i in range(18)) + "}"


def _listed(n: int) -> str:
    return "[" + ", ".join(f"v{(n * 31 + i) % 5000}" for i in range(18)) + "]"


def _mapped(section: str, inner: str, entry: str, owners: int, each: int) -> str:
    lines = [HEAD, f"{section}:\n"]
    for n in range(owners):
        lines.append(f"  {section}-{n}:\n    {inner}:\n")
        lines += [f"    - {entry.format(n=n, i=i)}\n" for i in range(each)]
    return "".join(lines)


def _listed_owners(section: str, inner: str, entry: str, owners: int, each: int) -> str:
    lines = [HEAD, f"{section}:\n"]
    for n in range(owners):
        lines.append(f"- id: {section}-{n}\n  {inner}:\n")
        lines += [f"  - {entry.format(n=n, i=i)}\n" for i in range(each)]
    return "".join(lines)


def _history(n: int) -> str:
    marks = " ".join(f"{i:08x}" for i in range(20))
    decided = "resolution: x, resolved_at: 2025-01-18T11:00:00Z, resolved_by: a"
    entry = f"  - {{{_AT}, pattern: retry_cluster, result: TRIGGERED, {decided}, trip_id: '%012x', evidence: "
    entry += f"{{retry_cluster: {marks}}}}}\n"
    head = HEAD + "circuit_breaker:\n  status: OK\n  current_trigger: null\n  history:\n"
    return head + "".join(entry % i for i in range(n))


def _silences(n: int, rule: str) -> str:
    each = f"rule: {rule}, until: 2025-01-18T23:00:00Z, reason: r, by: a, created: 2025-01-18T10:00:00Z"
    return "silences:\n" + "".join(f"- {{id: s{i}, {each}, match: {{spec_ref: 'x{i}'}}}}\n" for i in range(n))


def _gaps(n: int) -> str:
    """Groups of two, each of which is a match."""
    return HEAD + "".join(_record(i, f"'ref {i // 2}'", "spec_gap", "spec_ref") for i in range(n))


def _flow(records: Iterable[str]) -> str:
    return "{version: 1, anomalies: [" + ", ".join(each.removeprefix("- ").strip() for each in records) + "]}\n"


_ATTEMPT = "{{timestamp: 2025-01-18T10:00:00Z, result: failed, test: t{i}, error: 'm {i} {n}'}}"
_ROUND = "{{timestamp: 2025-01-18T10:00:00Z, by: a{i}, objection: 'objection {i} of {n}', answer: 'no {i}'}}"
_ITERATION = "{{timestamp: 2025-01-18T10:00:00Z, files_modified: 0, error: 'error {i} of {n}', output: same}}"

# Texts of one unit again and again: where a regular expression may begin at every character.
UNITS = (
    "-", ".", "a:", "a/", "a.", "a-", "a1:", "1", "1 ", "1.", "2020-", "_", "'a", "`a ", "=", "@", "a@", "a+", "A", "a",
    " ", "::", "to a:", "error ", "code ", "port 80 ", "\ufdfa", "a\u0301\u0323", "\u00b7",
)  # fmt: skip

BOARDS: dict[str, Callable[[], str]] = {
    **{f"texts of {unit!a}": lambda unit=unit: _texts(_filled(unit)) for unit in UNITS},  # type: ignore[misc]
    "same texts that normalising expands": lambda: _texts(_filled("\ufdfa"), "spec_gap", "spec_ref"),
    "same texts of signs": lambda: _texts(_filled("\u00b7", 100_000), "spec_gap", "spec_ref"),
    "long texts": lambda: _texts(_filled("word ", 100_000)),
    "long texts that normalising expands": lambda: _texts(
        _filled("\ufdfa", 90_000), "assumption_violated", "assumption"
    ),
    "texts of many words": lambda: _texts(_words),
    "texts of one word": lambda: _texts(lambda n: f'"word{_letters(n)}"'),
    "texts of two words": lambda: _texts(lambda n: f'"failed {_letters(n * 7919)}"'),
    "texts of near words": lambda: _texts(_near),
    "lists of values": lambda: _texts(_listed, "spec_gap", "spec_ref"),
    "many keys": lambda: _texts(_keys),
    "nested lists": lambda: _texts(lambda _: "[" * 12 + "1" + "]" * 12),
    "types": lambda: HEAD + "".join(_record(n, "x", f"k{n}") for n in range(RECORDS)),
    "types that are lists": lambda: HEAD + "".join(_record(n, "x", f"[k{n}]") for n in range(RECORDS)),
    "thousands of matches": lambda: _gaps(RECORDS),
    "scalars for records": lambda: HEAD + "- 1\n" * RECORDS,
    "sections": lambda: HEAD + "".join(f"k{n}: {n}\n" for n in range(90_000)),
    "tasks": lambda: "tasks:\n" + "- {id: t, status: BLOCKED}\n" * RECORDS + HEAD.replace("tasks: []\n", ""),
    "slices": lambda: _listed_owners("slices", "attempts", _ATTEMPT, 9_900, 1),
    "attempts": lambda: _listed_owners("slices", "attempts", _ATTEMPT, 10, 1_980),
    "claims": lambda: _listed_owners("claims", "rounds", _ROUND, 9_900, 1),
    "rounds": lambda: _listed_owners("claims", "rounds", _ROUND, 10, 1_980),
    "loops": lambda: _mapped("loops", "iterations", _ITERATION, 9_900, 1),
    "iterations": lambda: _mapped("loops", "iterations", _ITERATION, 10, 1_980),
    "history": lambda: _history(20_000),
    "silences": lambda: _gaps(17_800) + _silences(2_000, "spec_gap_cluster"),
    "one line": lambda: _flow([*TRIPPING.splitlines(), *(_record(n, f"e{n}") for n in range(RECORDS))]),
    "a literal block": lambda: HEAD + "note: |\n" + "  anomalies:\n" * 80_000,
    "comments": lambda: "# x\n" * 450_000 + HEAD,
    "aliases": lambda: f"x: &x {{{_AT}, task: t, reporter: r, type: retry_loop}}\n" + HEAD + "- *x\n" * 6_000,
}
