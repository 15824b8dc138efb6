"""Blackboards as people, editors and other tools might leave them: odd, but legal YAML.

A value is drawn first and then written down in randomly chosen styles, so that the same value appears plain, quoted,
folded, in flow and in block form, with comments and blank lines wherever YAML allows them.
"""

import json
from typing import Any

from hypothesis import strategies as st

Draw = st.DrawFn

WORDS = st.sampled_from(
    [
        "id",
        "status",
        "type",
        "task",
        "details",
        "count",
        "what",
        "error_pattern",
        "rounds",
        "name with space",
        "x",
        "größe",
        "a.b",
    ]
)
ODD_TEXTS = [
    "OK", "yes", "no", "null", "~", "12:30:45", "2025-01-18T14:32:00Z", "0x1F", "1e3", "# no comment", "a # b", "a: b",
    "- dash", "[x]", "{y}",
    "it's", 'say "hi"', "back\\slash", "tab\there", "two\nlines", "three\n\nlines\n", " lead",
    "trail ", "", "&anchor", "*alias", "!tag", "%dir", "@at", "`tick`", "---", "...", "? q", "| bar", "> gt",
    "é ü 漢字 😀", "\u2028sep", "nbsp\u00a0", "\u202ertl", "\x1b[31mred", "#hash first\nsecond", "last\n# hash",
    "end\n\n\n", "\nfirst empty", "  indented\nthen not", "key: |", "a,b", "x]", "x}", "on", "Off", "-", "--- x", "=",
    "<<", "1_000", "0o14", "012", "1.5", ".5", "-.inf",
]  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
)
SCALARS = st.one_of(
    TEXTS, st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=10,
)
RECORDS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=5)
SECTIONS = ("version", "goal", "tasks", "anomalies", "claims", "circuit_breaker", "config", "own notes")

_COMMENTS = st.sampled_from(["", "", "", "", "  # note", " # key: value", "  # - dash", "   # 'quote\" [ {"])
_PLAIN_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_ ")


@st.composite
def boards(draw: Draw) -> str:
    """The text of a whole state.yaml."""
    names = draw(st.lists(st.sampled_from(SECTIONS), min_size=1, max_size=5, unique=True))
    style = _Style(draw)
    lines: list[str] = []
    if draw(st.booleans()):
        lines += draw(
            st.sampled_from([["---"], ["# head", "---  # marker"], ["%YAML 1.2", "---"], ["# only a comment"], [""]])
        )
    for name in names:
        value = draw(st.one_of(VALUES, st.lists(RECORDS, max_size=4), st.dictionaries(WORDS, RECORDS, max_size=3)))
        lines += style.between(0)
        lines += style.field(name, value, 0)
    lines += style.between(0)
    if draw(st.integers(0, 9)) == 0:
        lines.append("...")
    text = "\n".join(lines) + draw(st.sampled_from(["\n", "\n", "\n", "", "\n\n", "\n# the end"]))
    if draw(st.integers(0, 7)) == 0:
        text = text.replace("\n", "\r\n")
    if draw(st.integers(0, 7)) == 0:
        text = "\ufeff" + text
    return text


class _Style:
    """Draws how each thing is written."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def between(self, column: int) -> list[str]:
        indent = " " * column
        return list(
            self.draw(
                st.sampled_from(
                    [[], [], [], [""], [f"{indent}# comment"], ["", f"{indent}# - a: b", ""], ["  # stray"]]
                )
            )
        )

    def comment(self) -> str:
        return str(self.draw(_COMMENTS))

    def field(self, key: str, value: Any, column: int) -> list[str]:
        return self.after(" " * column + self.key(key) + ":", value, column)

    def key(self, key: str) -> str:
        if self.draw(st.integers(0, 5)) == 0:
            return json.dumps(key, ensure_ascii=False)
        return key if set(key) <= _PLAIN_SAFE | set("ß.ö") else json.dumps(key, ensure_ascii=False)

    def after(self, head: str, value: Any, column: int) -> list[str]:
        """The value behind `key:` in `column`."""
        if isinstance(value, dict | list) and value and self.draw(st.integers(0, 3)):
            step = self.draw(st.sampled_from([1, 2, 2, 2, 4]))
            inner = column + (0 if isinstance(value, list) and self.draw(st.booleans()) else step)
            return [head + self.comment(), *self.block(value, inner)]
        return self.inline(head, value, column)

    def block(self, value: Any, column: int) -> list[str]:
        lines: list[str] = []
        for entry in value.items() if isinstance(value, dict) else value:
            lines += self.between(column)
            lines += self.field(entry[0], entry[1], column) if isinstance(value, dict) else self.item(entry, column)
        return lines

    def item(self, value: Any, column: int) -> list[str]:
        gap = self.draw(st.sampled_from([1, 1, 1, 3]))
        if isinstance(value, dict | list) and value and self.draw(st.integers(0, 3)):
            inner = column + 1 + gap
            body = (
                self.field(*next(iter(value.items())), inner) if isinstance(value, dict) else self.item(value[0], inner)
            )
            rest = dict(list(value.items())[1:]) if isinstance(value, dict) else value[1:]
            body[0] = " " * column + "-" + " " * gap + body[0][inner:]
            return body + self.block(rest, inner)
        return self.inline(" " * column + "-", value, column)

    def inline(self, head: str, value: Any, column: int) -> list[str]:
        if isinstance(value, dict | list) and value and self.draw(st.booleans()):
            opening, closing = "{}" if isinstance(value, dict) else "[]"
            entries = [self.flow(value)[1:-1]] if self.draw(st.booleans()) else self.flow_entries(value)
            pad = " " * (column + 2)
            trailing = self.draw(st.sampled_from(["", ","])) if entries else ""
            return [
                f"{head} {opening}{self.comment()}",
                *[f"{pad}{e}," for e in entries[:-1]],
                f"{pad}{entries[-1]}{trailing}{self.comment()}",
                f"{pad}{closing}{self.comment()}",
            ]
        if isinstance(value, str) and "\n" in value and self.draw(st.booleans()) and _literal_ok(value):
            return self.literal(head, value, column)
        text = self.flow(value)
        if value is None and self.draw(st.integers(0, 2)) == 0:
            return [head + self.comment()]
        return [f"{head}{self.draw(st.sampled_from([' ', '  ']))}{text}{self.comment()}"]

    def literal(self, head: str, value: str, column: int) -> list[str]:
        body = value.rstrip("\n")
        ending = len(value) - len(body)
        chomp = "-" if ending == 0 else "" if ending == 1 else "+"
        pad = " " * (column + self.draw(st.sampled_from([1, 2, 4])))
        return [
            f"{head} |{chomp}{self.comment()}",
            *[pad + line if line else "" for line in body.split("\n")],
            *[""] * (ending - 1),
        ]

    def flow(self, value: Any) -> str:
        if isinstance(value, dict | list):
            opening, closing = "{}" if isinstance(value, dict) else "[]"
            return opening + self.draw(st.sampled_from([", ", ",  "])).join(self.flow_entries(value)) + closing
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float):
            return repr(value) if "." in repr(value) else repr(value).replace("e", ".0e")
        return json.dumps(value)

    def flow_entries(self, value: Any) -> list[str]:
        if isinstance(value, dict):
            return [f"{self.key(key)}: {self.flow(inner)}" for key, inner in value.items()]
        return [self.flow(inner) for inner in value]

    def text(self, value: str) -> str:
        plain = value and set(value) <= _PLAIN_SAFE and value == value.strip()
        if (
            plain
            and value.lower() not in {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
            and self.draw(st.booleans())
        ):
            return value
        if value.isprintable() and self.draw(st.booleans()):
            return "'" + value.replace("'", "''") + "'"
        return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(value, ensure_ascii=False))


def _literal_ok(value: str) -> bool:
    lines = value.rstrip("\n").split("\n")
    return (
        bool(lines[0].strip())
        and not lines[0][0].isspace()
        and all(line.isprintable() for line in lines)
        and bool(lines[-1].strip())
    )
