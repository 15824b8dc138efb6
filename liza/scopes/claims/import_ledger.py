"""Reading a Markdown ledger of claims: headings with an id, and fields below each. It reports what it cannot read.

## C-001 [DISPUTED]

- **Text:** GC content explains the effect
- **Confidence:** 0.7
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.model import Problem
from liza.rules.same import same_key
from liza.scopes.claims.fields import DISPUTED, OPEN, STATUSES
from liza.scopes.claims.ledger import NAMES, NOT_READ
from liza.text import did_you_mean, value_text

_HEADING = re.compile(r"(#{1,6})(?:\s+|(?=(?i:claim|c)[-_]?\d))(.*?)(?:\s+#+)?\s*")
_ID = re.compile(r"(?i:claim|c)[-_ ]?\d+[a-z]?")
# An id as people dress it up, and a title behind it: **C-001**, [C-001](notes.md), Claim C-001 — GC content
_TITLED = re.compile(
    r"(?:(?i:claim)\s+)?[*`\[]{0,3}(?P<id>(?i:claim|c)[-_]?\d+[a-z]?)[*`\]]{0,3}(?:\([^()]*\))?"
    r"(?:\s*[:—–]\s*|\s+-\s+|$)(?P<title>.*)"
)
_APART = re.compile(r"\s{0,3}(?:(?P<fence>```+|~~~+)|<!--(?!.*-->))")  # code, or a comment of several lines
_TAG = re.compile(r"\s*(?<!\\)\[([^\[\]]*)(?<!\\)\]\s*$")
_FIELD = re.compile(
    r"""\s{0,3}(?: [-*+]?\s*\*\*(?P<name>[^*:]{1,60}):?\*\*:?\s*(?P<value>.*)      # - **Text:** ...
              |  [-*+]\s+(?P<bare>[A-Z][\w -]{0,40}):\s+(?P<rest>.*) )             # - Text: ...
    """,
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])|&(lt|gt|amp);")
_BETWEEN = re.compile(r"(?<!\\)(?<!&lt)(?<!&gt)(?<!&amp)[;,](?=\s|$)")  # two references on one line
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&"}
_OTHER_NAMES = {"claim": "text", "statement": "text", "dependencies": "depends_on", "depends": "depends_on",
                "objection": "dispute_reason", "position": "researcher_position"}  # fmt: skip
LONGEST = 100  # characters of an id
_LISTS = ("evidence", "depends_on")


class Ledger(NamedTuple):
    """The claims of a ledger, by their ids, and what could not be read, line by line."""

    claims: dict[str, dict[str, Any]]
    problems: tuple[Problem, ...]


def read_ledger(text: str, file: str) -> Ledger:
    reader = _Reader(file)
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        reader.line(number, line)
    return reader.done()


class _Reader:
    """Goes through a ledger line by line."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.claims: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, int] = {}  # where each claim begins
        self.problems: list[Problem] = []
        self.claim: dict[str, Any] | None = None
        self.field: str | None = None  # that the next line may continue
        self.is_broken = False  # whether the last line ends in a backslash: another follows
        self.titles: dict[str, str] = {}  # the title after the id of each claim: its text, unless it has another
        self.until: str | None = None  # what ends the code or the comment that the next line is in

    def wrong(self, number: int, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, self.file, number, None, hint, "warning"))

    def line(self, number: int, line: str) -> None:
        if self.until is not None:
            self.until = None if self.until in line else self.until
            if line.strip():
                self.wrong(number, f"inside code or a comment, so it was ignored: {value_text(line.strip())}")
            return
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            self.heading(number, len(heading[1]), heading[2])
        elif not line.strip():
            self.field = None
        elif self.claim is not None and self.field is not None and (line.startswith("  ") or self.is_broken):
            self.claim[self.field] += "\n" + self.value(line.removeprefix("  "))
        elif (apart := _APART.match(line)) is not None:
            self.until = apart["fence"] or "-->"
            self.field = None
            self.wrong(number, f"code and comments are ignored: {value_text(line.strip())}")
        elif self.claim is not None and (found := _FIELD.fullmatch(line)) is not None:
            self.named(number, found["name"] or found["bare"], found["value"] if found["name"] else found["rest"])
        elif self.claim is not None:
            self.wrong(number, f"not a field of a claim: {value_text(line.strip())}", "write it as: - **Text:** ...")
        elif self.claims or not line.lstrip().startswith(("#", ">", "*", "Claims:")):
            self.wrong(number, f"this belongs to no claim: {value_text(line.strip())}")

    def heading(self, number: int, level: int, title: str) -> None:
        self.claim, self.field = None, None
        found: list[str] = []
        while (tag := _TAG.search(title)) is not None:
            found.insert(0, tag[1].strip())
            title = title[: tag.start()]
        titled = _TITLED.fullmatch(title)
        name, *rest = titled.group("id", "title") if titled else re.split(r"(?<!\\): ", title, maxsplit=1)
        name = _plain(name)
        if level == 1 and not _ID.fullmatch(name):
            return  # the title of the page
        if not name or len(name) > LONGEST or not name.isprintable():
            self.wrong(number, f"invalid claim id {value_text(title)}", "ids look like C-001 or CLAIM-1")
        elif name in self.claims:
            self.wrong(number, f"claim {value_text(name)} is already in line {self.lines[name]}: skipped")
        else:
            self.claim = self.claims[name] = {"status": None}
            self.lines[name], self.titles[name] = number, _plain("".join(rest))
            self.tags(number, found)

    def tags(self, number: int, found: list[str]) -> None:
        for tag in found:
            if tag in ("FREEZE VIOLATED", "RE-EXAMINE"):
                continue
            assert self.claim is not None
            if self.claim["status"] is None and _is_status(tag):
                self.claim["status"] = tag.upper()
            else:
                self.wrong(number, f"the tag {value_text(tag)} is not a status")

    def named(self, number: int, label: str, text: str) -> None:
        assert self.claim is not None
        self.field = None
        key = same_key(label).replace(" ", "_").replace("-", "_")
        known = {same_key(each).replace(" ", "_"): field for field, each in NAMES.items()} | _OTHER_NAMES
        field = known.get(key)
        if label in NOT_READ.values() or label == "Also disputed":
            self.wrong(number, f"{label} is not imported: it records history from another ledger")
        elif field is None:
            hint = did_you_mean(label, tuple(NAMES.values()))
            self.wrong(number, f"unknown field {value_text(label)}", hint)
        elif field in _LISTS:
            parts = [_plain(each.strip()) for each in _BETWEEN.split(text)]
            self.claim.setdefault(field, []).extend(each for each in parts if each)
        elif field == "status" and not _is_status(text.strip()):
            self.wrong(number, f"{value_text(text)} is not a status", f"one of: {', '.join(STATUSES)}")
        elif field == "status" and self.claim["status"] == DISPUTED != text.strip().upper():
            self.wrong(number, f"the status is {value_text(text)}, but its tag is {DISPUTED}: the tag counts")
        elif field in self.claim and self.claim[field] is not None and field != "status":
            self.wrong(number, f"{label} is given twice: skipped")
        elif not text.strip():
            self.wrong(number, f"{label} is empty")
        else:
            self.claim[field] = self.value(text) if field != "status" else text.strip().upper()
            self.field = field if field != "status" else None

    def value(self, text: str) -> str:
        """The text of a line; a backslash at its end means that the next line continues it."""
        ends = len(text) - len(text.rstrip("\\"))
        self.is_broken = ends % 2 == 1
        return _unescaped(text[:-1] if self.is_broken else text).rstrip()

    def done(self) -> Ledger:
        for name, claim in list(self.claims.items()):
            if self.titles[name]:
                claim.setdefault("text", self.titles[name])
            for field in ("confidence", "dispute_cycle"):
                if field in claim:
                    claim[field] = _number(claim[field])
            if not str(claim.get("text") or "").strip():
                self.wrong(
                    self.lines[name], f"claim {value_text(name)} has no text: skipped", "add a line: - **Text:** ..."
                )
                del self.claims[name]
        return Ledger(self.claims, tuple(sorted(self.problems, key=lambda each: each.line or 0)))


def _is_status(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z_-]{0,39}", text) is not None


def _plain(text: str) -> str:
    return _unescaped(text).strip()


def _unescaped(text: str) -> str:
    """A text as it was before it was made fit for Markdown."""
    return _ESCAPED.sub(lambda found: found[1] or _ENTITIES[found[2]], text)


def _number(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else number if abs(number) < 1e15 else text


def new_record(claim: Mapping[str, Any], created: str) -> dict[str, Any]:
    """The record of a claim from a ledger; it has no rounds yet."""
    given = {name: value for name, value in claim.items() if value is not None}
    return {"status": OPEN, **given, "created": created, "rounds": []}
