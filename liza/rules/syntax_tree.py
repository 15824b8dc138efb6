"""The syntax tree of a condition, made by the parser in `language`.

Separate from the parser, so that evaluating the shipped rules does not load it: their trees are in `parsed_packs`.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    Node: TypeAlias = "Comparison | All | Any_ | Not"
else:
    Node = Any  # a name in quotes is compiled whenever liza starts, which takes longer than all the rest of this module


class BadCondition(ValueError):
    """Where in the condition (counting from 0) something else was expected."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Field(NamedTuple):
    """`a`, `a.b` or `a|b`: the first of several paths that is present."""

    paths: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return "|".join(".".join(path) for path in self.paths)


class Param(NamedTuple):
    """`$name`, a number that the rule or rules.yaml sets."""

    name: str


class Filter(NamedTuple):
    """What a record must be like. `operator` is a comparison, `in`, `not in`, `exists` or an `age` comparison."""

    field: Field
    operator: str
    value: Any
    age: bool = False


class Grouping(NamedTuple):
    """Which records belong together; `similarity` is None for `same`, `letters` for a `similar` with a number."""

    field: Field
    similarity: float | None
    letters: bool = False


class Distinct(NamedTuple):
    """An extra test on a group: how many different values of a field it holds."""

    field: Field
    operator: str
    value: float | Param


class Aggregate(NamedTuple):
    """A number made of the records of a stream."""

    kind: str  # count, streak, share, sum
    stream: str = "anomalies"
    where: tuple[Filter, ...] = ()
    filters: tuple[Filter, ...] = ()
    grouping: Grouping | None = None
    per: tuple[Field, ...] = ()
    distinct: Distinct | None = None
    within: float | None = None  # seconds
    summed: Field | None = None  # by a sum

    @property
    def grouped(self) -> bool:
        return self.grouping is not None or bool(self.per)


class Metric(NamedTuple):
    """A number of the blackboard itself, such as `sprint.metrics.tasks_blocked`."""

    path: tuple[str, ...]


def is_number(term: Aggregate | Metric) -> bool:
    """Whether a term is a number of its own, which a person acknowledges at its value, and not a count of records."""
    return isinstance(term, Metric) or term.kind == "sum"


class Comparison(NamedTuple):
    """Aggregates added up, against a number."""

    terms: tuple[Aggregate | Metric, ...]
    operator: str
    threshold: float | Param


class All(NamedTuple):
    parts: tuple[Node, ...]


class Any_(NamedTuple):  # noqa: N801 - `Any` is typing's
    parts: tuple[Node, ...]


class Not(NamedTuple):
    part: Node
