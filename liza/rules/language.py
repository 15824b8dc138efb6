"""The condition language: from text to a tree, or an error with its place, what was expected, and what was meant.

    count(type=retry_loop, similar(error_pattern)) >= 3

A hand-written descent through the grammar of docs/rules.md: a pack of conditions parses in about a millisecond, while
importing a parser generator alone takes many times that.
"""

import re
from typing import Any, NoReturn

from liza.model import parse_duration
from liza.rules.lexer import Token, tokens
from liza.rules.syntax_tree import (
    Aggregate,
    All,
    Any_,
    BadCondition,
    Comparison,
    Distinct,
    Field,
    Filter,
    Grouping,
    Metric,
    Node,
    Not,
    Param,
)
from liza.scope_names import IN_FILES, ON_BOARD
from liza.text import did_you_mean

STREAMS = (
    "anomalies",
    *(stream for each in ON_BOARD for stream in each.streams),
    *("tasks", "agents", "discovered", "log"),
    *(stream for each in IN_FILES for stream in each.streams),
)
AGGREGATES = ("count", "streak", "share", "sum", "metric")
ARGUMENTS = ("same", "similar", "per", "distinct", "within", "exists", "age")
COMPARISONS = (">=", "<=", "!=", "=~", ">", "<", "=")
KEYWORDS = ("AND", "OR", "NOT", "IN", "where")
DEFAULT_SIMILARITY = 0.7
DEEPEST = 50
_REGEX_BYTES = 1 << 20  # of a compiled pattern
_SUM = "the field comes first, and then what a count has: sum(tokens, usage, per(session))"
_RE2 = "RE2 syntax: no backreferences, lookaround or possessive quantifiers; at most 1,000 repetitions"


_CONSTANTS = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    return _Parser(text).condition()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def fail(self, expected: str, token: Token | None = None, hint: str | None = None) -> NoReturn:
        token = token or self.token
        if hint is None and token.kind == "word":
            hint = did_you_mean(token.text, KEYWORDS)
        if token.kind == "odd":
            raise BadCondition(_odd(token.text, expected), token.offset, hint)
        found = f"found {token.text!r}" if token.kind != "end" else "the condition ends"
        raise BadCondition(f"expected {expected}, {found}", token.offset, hint)

    def take(self) -> Token:
        token = self.token
        self.at += token.kind != "end"
        return token

    def accept(self, *texts: str) -> Token | None:
        """The next token, if it is one of these operators or, in any case, keywords."""
        token = self.token
        if token.kind in ("operator", "word") and token.text.lower() in texts:
            return self.take()
        return None

    def expect(self, text: str) -> Token:
        return self.accept(text) or self.fail(f"{text!r}")

    # condition := term (OR term)*; term := factor (AND factor)*

    def condition(self) -> Node:
        node = self.alternatives(0)
        if self.token.kind != "end":
            self.fail("AND, OR or the end of the condition")
        return node

    def alternatives(self, depth: int) -> Node:
        parts = [self.conjunction(depth)]
        while self.accept("or"):
            parts.append(self.conjunction(depth))
        return parts[0] if len(parts) == 1 else Any_(tuple(parts))

    def conjunction(self, depth: int) -> Node:
        parts = [self.factor(depth)]
        while self.accept("and"):
            parts.append(self.factor(depth))
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def factor(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise BadCondition(f"nested more than {DEEPEST} levels deep", self.token.offset)
        if self.accept("not"):
            return Not(self.factor(depth + 1))
        if self.accept("("):
            node = self.alternatives(depth + 1)
            self.expect(")")
            return node
        return self.comparison()

    def comparison(self) -> Comparison:
        terms = [self.aggregate()]
        while self.accept("+"):
            terms.append(self.aggregate())
        return Comparison(tuple(terms), self.comparator(), self.number())

    def comparator(self) -> str:
        found = self.accept(">=", ">", "=", "<", "<=")
        return found.text if found else self.fail("a comparison (>= > = < <=)")

    def number(self) -> float | Param:
        token = self.take()
        if token.kind == "number":
            return float(token.text)
        return Param(token.text[1:]) if token.kind == "param" else self.fail("a number or $param", token)

    def aggregate(self) -> Aggregate | Metric:
        token = self.take()
        if token.kind != "word" or token.text not in AGGREGATES:
            hint = did_you_mean(token.text, AGGREGATES)
            self.fail("count(...), streak(...), share(...), sum(...) or metric(...)", token, hint)
        self.expect("(")
        if token.text == "metric":
            path = self.word("a path like sprint.metrics.tasks_blocked")
            self.expect(")")
            return Metric(tuple(path.text.split(".")))
        found = _Arguments(self, token.text)
        if token.text == "sum":
            found.given["summed"] = self.field()
        more = self.more(_SUM) if found.given else not self.accept(")")
        while more:
            found.argument()
            more = self.more()
        return found.aggregate()

    def more(self, hint: str | None = None) -> bool:
        """Whether another argument follows."""
        if self.accept(")"):
            return False
        return self.accept(",") is not None or self.fail("',' or ')'", hint=hint)

    def word(self, expected: str) -> Token:
        token = self.take()
        return token if token.kind == "word" else self.fail(expected, token)

    def field(self) -> Field:
        paths = [tuple(self.word("the name of a field").text.split("."))]
        while self.accept("|"):
            paths.append(tuple(self.word("the name of a field").text.split(".")))
        return Field(tuple(paths))

    def fields(self) -> tuple[Field, ...]:
        self.expect("(")
        found = [self.field()]
        while self.accept(","):
            found.append(self.field())
        self.expect(")")
        return tuple(found)

    def filter(self) -> Filter:
        if self.token.text in ("exists", "age") and self.tokens[self.at + 1].text == "(":
            kind = self.take().text
            (field,) = self.one_field()
            if kind == "exists":
                return Filter(field, "exists", None)
            return Filter(field, self.comparator(), self.duration(), age=True)
        field = self.field()
        if self.accept("in"):
            return Filter(field, "in", self.listed())
        if self.accept("not"):
            self.expect("in")
            return Filter(field, "not in", self.listed())
        operator = self.accept(*COMPARISONS)
        if operator is None:
            self.fail("a comparison (= != < <= > >= =~), IN or NOT IN")
        if operator.text == "=~":
            return Filter(field, "=~", self.regex())
        return Filter(field, operator.text, self.value())

    def one_field(self) -> tuple[Field]:
        self.expect("(")
        field = self.field()
        self.expect(")")
        return (field,)

    def duration(self) -> float:
        token = self.take()
        seconds = parse_duration(token.text) if token.kind == "duration" else None
        return seconds if seconds is not None else self.fail("a duration like 30m or 2h", token)

    def regex(self) -> Any:
        token = self.take()
        if token.kind != "string":
            self.fail('a regular expression in quotes, like "timeout|refused"', token)
        import re2  # linear in time for any pattern and text; few rules have one

        options = re2.Options()
        options.log_errors = False
        options.max_mem = _REGEX_BYTES
        try:
            return re2.compile(token.text[1:-1], options)
        except re2.error as error:
            reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
            raise BadCondition(f"unsupported regular expression: {reason}", token.offset, _RE2) from None

    def listed(self) -> tuple[Any, ...]:
        self.expect("[")
        found = [self.value()]
        while self.accept(","):
            found.append(self.value())
        self.expect("]")
        return tuple(found)

    def value(self) -> Any:
        token = self.take()
        if token.kind == "string":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1]) if token.text[0] == '"' else token.text[1:-1]
        if token.kind == "number":
            return float(token.text) if "." in token.text or len(token.text) > 18 else int(token.text)
        return _CONSTANTS.get(token.text, token.text) if token.kind == "word" else self.fail("a value", token)


class _Arguments:
    """What is inside count(...), streak(...), share(...), or sum(...) behind its field."""

    def __init__(self, parser: _Parser, kind: str) -> None:
        self.parser = parser
        self.kind = kind
        self.given: dict[str, Any] = {}
        self.filters: list[Filter] = []
        self.first = True

    def aggregate(self) -> Aggregate:
        return Aggregate(self.kind, filters=tuple(self.filters), **self.given)

    def argument(self) -> None:
        parser, first = self.parser, self.first
        self.first = False
        token, following = parser.token, parser.tokens[min(parser.at + 1, len(parser.tokens) - 1)]
        if token.kind == "word" and following.text == "(":
            self.call(token)
        elif first and token.kind == "word" and self.is_stream(token, following):
            self.stream()
        else:
            self.filters.append(parser.filter())

    @staticmethod
    def is_stream(token: Token, following: Token) -> bool:
        """A first word alone is a stream; before another word it is one if it is known: `tasks wher` is a slip."""
        return following.text.lower() in (",", ")", "where") or (token.text in STREAMS and following.kind == "word")

    def stream(self) -> None:
        token = self.parser.take()
        if token.text not in STREAMS:
            summed = self.given.get("summed")
            hint = _SUM if summed is not None and str(summed) in STREAMS else did_you_mean(token.text, STREAMS)
            self.parser.fail(f"a stream ({', '.join(STREAMS)}) or a filter", token, hint)
        self.given["stream"] = token.text
        if self.parser.accept("where"):
            where = [self.parser.filter()]
            while self.parser.accept("and"):
                where.append(self.parser.filter())
            self.given["where"] = tuple(where)

    def call(self, token: Token) -> None:
        parser = self.parser
        if token.text in ("exists", "age"):
            self.filters.append(parser.filter())
            return
        parser.take()
        if token.text == "same":
            self.once("grouping", token, Grouping(parser.one_field()[0], None))
        elif token.text == "similar":
            self.once("grouping", token, self.similar())
        elif token.text == "per":
            self.once("per", token, parser.fields())
        elif token.text == "distinct":
            (field,) = parser.one_field()
            self.once("distinct", token, Distinct(field, parser.comparator(), parser.number()))
        elif token.text == "within":
            parser.expect("(")
            self.once("within", token, parser.duration())
            parser.expect(")")
        else:
            hint = did_you_mean(token.text, ARGUMENTS)
            parser.fail("same, similar, per, distinct, within, exists or age", token, hint)

    def similar(self) -> Grouping:
        parser = self.parser
        parser.expect("(")
        field, similarity = parser.field(), DEFAULT_SIMILARITY
        letters = parser.accept(",")
        if letters:
            token = parser.take()
            if token.kind != "number" or not 0 < float(token.text) <= 1:
                parser.fail("a similarity between 0 and 1", token)
            similarity = float(token.text)
        parser.expect(")")
        return Grouping(field, similarity, bool(letters))

    def once(self, name: str, token: Token, value: Any) -> None:
        if name in self.given:
            raise BadCondition(f"a second {token.text}(...) in one {self.kind}(...)", token.offset)
        self.given[name] = value


def _odd(text: str, expected: str) -> str:
    if text[0] in "\"'":
        return f"expected {expected}, found a quote that is not closed: {text[:20]}"
    return f"expected {expected}, found {text[:20]!r}" if text[0].isdigit() else f"unexpected {text!r}"
