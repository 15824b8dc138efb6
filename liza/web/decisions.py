"""What a person can decide on the page. Each decision is a command of liza, which is shown, and run as it is shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from liza.errors import WrongUsage
from liza.schema.severities import CAUSES, SEVERITIES
from liza.text import printable, shell_quoted


class Field(NamedTuple):
    """One input of a form, and the option that it becomes."""

    name: str
    label: str
    option: str = ""  # empty: a word behind the name
    example: str = ""  # what the command shows for it while there is no value
    required: bool = False
    choices: tuple[str, ...] = ()
    long: bool = False  # of more than one line


class Decision(NamedTuple):
    """A form, and the command that it runs: these words, the name of what is decided on, and the fields."""

    name: str
    title: str
    words: tuple[str, ...]
    fields: tuple[Field, ...]
    about: str = ""  # the kind of thing that is decided on; empty where there is only one
    option: str = ""  # which takes its name; empty where it is a word of its own

    def arguments(self, subject: str, values: Mapping[str, str]) -> list[str]:
        """The words behind `liza`; `WrongUsage` where something is missing or not one of the choices."""
        found, last = [*self.words], []
        if self.option:
            found += [self.option, subject]
        elif self.about:
            last.append(subject)
        for field in self.fields:
            value = _value_of(field, values)
            if value and field.option:
                found += [field.option, value]
            elif value:
                last.append(value)
        if any(word.startswith("-") for word in last):
            found.append("--")
        elif last:  # as a person would type it
            found = [*self.words, *last, *found[len(self.words) :]]
            last = []
        return [*found, *last]

    def example(self, subject: str) -> str:
        """The command with examples for what has to be given."""
        return command_line(self.arguments(subject, {f.name: f.example for f in self.fields if f.required}))


def command_line(arguments: Sequence[str]) -> str:
    """The command as a person would type it."""
    return printable(" ".join(["liza", *map(shell_quoted, arguments)]))


def _value_of(field: Field, values: Mapping[str, str]) -> str:
    value = values.get(field.name, "").replace("\r\n", "\n").strip()
    if not value and field.required:
        raise WrongUsage(f"{field.label} is missing", hint="fill in the form again")
    if value and field.choices and value not in field.choices:
        raise WrongUsage(f"{field.label}: expected one of {', '.join(field.choices)}")
    return value


def _reason(example: str, label: str = "Reason") -> Field:
    return Field("message", label, "-m", example, required=True, long=True)


_BY = Field("by", "Name", "--by")
_DECIDED = _reason("what was decided", "Decision")

DECISIONS = {
    each.name: each
    for each in (
        Decision(
            "resolve", "Resolve", ("resolve",), (_DECIDED, Field("cause", "Cause", "--cause", choices=CAUSES), _BY)
        ),
        Decision(
            "trip",
            "Halt everyone",
            ("trip",),
            (_reason("what is wrong"), Field("severity", "Severity", "--severity", choices=tuple(SEVERITIES)), _BY),
        ),
        Decision("session_resume", "Resume", ("session", "resume"), (_DECIDED, _BY), "session"),
        Decision("session_stop", "Stop", ("session", "stop"), (_reason("why"), _BY), "session"),
        Decision(
            "silence",
            "Silence",
            ("silence", "add"),
            (
                Field("match", "Only matches with", example="FIELD=VALUE", required=True),
                Field("length", "For how long", "--for", "2h", required=True),
                _reason("why agents may continue"),
                _BY,
            ),
            "rule",
        ),
        Decision("silence_expire", "End now", ("silence", "expire"), (_BY,), "silence"),
        Decision("loop_reset", "Reset", ("loop", "reset"), (_DECIDED, _BY), "loop"),
        Decision("loop_probe", "Try one iteration", ("loop", "probe"), (_BY,), "loop"),
        Decision(
            "slice_reset", "Reset", ("attempt", "reset"), (_reason("guidance", "Guidance"), _BY), "slice", "--slice"
        ),
        Decision(
            "claim_new_data",
            "New data",
            ("claim", "resolve"),
            (Field("new_data", "Data or tool", "--new-data", "REF", required=True), _BY),
            "claim",
        ),
        Decision("claim_drop", "Drop the claim", ("claim", "resolve", "--drop"), (_reason("why"), _BY), "claim"),
        Decision(
            "claim_override",
            "Override",
            ("claim", "resolve"),
            (
                Field("status", "New status", "--override", "ACCEPTED", required=True),
                _reason("why"),
                _BY._replace(required=True, example="NAME"),
            ),
            "claim",
        ),
    )
}
# What ends a stop, by what is stopped.
WAYS_OUT: Mapping[str, tuple[str, ...]] = {
    "session": ("session_resume",),
    "loop": ("loop_reset", "loop_probe"),
    "slice": ("slice_reset",),
    "claim": ("claim_new_data", "claim_drop", "claim_override"),
}


def ways_out(kind: str, name: str) -> Iterator[dict[str, str]]:
    """The decisions that end a stop, each with its command."""
    for each in (DECISIONS[way] for way in WAYS_OUT.get(kind, ())):
        yield {"decision": each.name, "command": each.example(name)}
