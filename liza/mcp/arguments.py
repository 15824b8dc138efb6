"""What each tool takes. The models are the schemas that clients are given, and validate what comes back."""

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator
from pydantic_core import ErrorDetails

from liza.errors import WrongUsage
from liza.text import one_line

LONGEST_TEXT = 1_000_000  # characters
LONGEST_DETAILS = 50_000
_LONGEST_NAME = 1_000
_MOST = 1_000  # entries of a list
_SHOWN = 5  # faults of one call

Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]


class Arguments(BaseModel):
    """Only what is declared, and nothing converted: a misspelt argument would be lost without a word."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(Arguments):
    """No arguments."""


class Anomaly(Arguments):
    """One problem that an agent reports."""

    type: Name = Field(min_length=1, description="One of the types that the description of this tool lists.")
    task: Name = Field("", description="The task it happened on; default: $LIZA_TASK.")
    reporter: Name = Field("", description="The agent that reports it; default: $LIZA_AGENT, else the client's name.")
    details: dict[Name, JsonValue] = Field(
        default_factory=dict, description='What happened, like {"error_pattern": "no route to host", "count": 3}.'
    )

    @field_validator("details")
    @classmethod
    def _is_short(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if (length := len(json.dumps(value))) > LONGEST_DETAILS:
            raise ValueError(f"{length:,} characters, at most {LONGEST_DETAILS:,}: give the end of a long text")
        return value


class Attempt(Arguments):
    """What came of one run of a test."""

    slice: Name = Field(min_length=1, description="The slice of work.")
    test: Name = Field("", description="The exact name of the test; may be left out for infra.")
    result: Literal["started", "failed", "passed", "infra"] = Field(
        description="started: before the first run; infra: the test could not be run, which does not count."
    )
    strategy: Text = Field("", description="What was tried, or will be.")
    error: Text = Field("", description="The output of the test runner, verbatim.")
    files: list[Name] = Field(
        default_factory=list, max_length=_MOST, description="What was changed; default: what git reports."
    )


class GivenObjection(Arguments):
    """One objection, with the answer to it."""

    text: Text = Field(min_length=1, description="What the reviewer objects to.")
    response: Text = Field(min_length=1, description="What the researcher answers.")
    id: Name = Field("", description="The id of the objection, the same in every round.")


class GivenRound(Arguments):
    """One round of review of a claim."""

    claim: Name = Field(min_length=1, description="The id of the claim.")
    objections: list[GivenObjection] = Field(min_length=1, max_length=_MOST)
    evidence: list[Name] = Field(default_factory=list, max_length=_MOST, description="New evidence, by reference.")
    tests: list[Name] = Field(default_factory=list, max_length=_MOST, description="Tests that were run, with results.")
    confidence: float | Name | None = Field(None, description="New confidence: a number or a word.")
    text: Text | None = Field(None, description="New text of the claim.")
    cycle: int | None = Field(None, ge=0, description="Its cycle; default: counted.")
    reviewer: Name | None = Field(None, description="Who objects.")
    researcher: Name | None = Field(None, description="Who answers.")


class Work(Arguments):
    """Which work an agent asks about; nothing named is everyone's."""

    session: Name | None = Field(None, description="A session, by its id or name.")
    claim: Name | None = Field(None, description="A claim.")
    slice: Name | None = Field(None, description="A slice.")
    loop: Name | None = Field(None, description="A loop.")
    stage: Name | None = Field(None, description="A stage.")


class About(Arguments):
    """What a decision should be about."""

    about: Name = Field("", description="A problem in words, an error, a rule or a task; empty: the newest decisions.")
    limit: int = Field(5, ge=1, le=50, description="At most this many.")


# What pydantic calls an error, in our words; others keep its message.
_WORDS = {
    "missing": "missing",
    "extra_forbidden": "unknown argument",
    "string_type": "expected a string",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "list_type": "expected a list",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "literal_error": "expected {expected}",
    "string_too_short": "expected a non-empty string",
    "string_too_long": "expected at most {max_length} characters",
    "too_short": "expected a non-empty list",
    "too_long": "expected at most {max_length} entries",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected {le} or less",
    "value_error": "{error}",
}


def invalid(tool: str, error: ValidationError) -> WrongUsage:
    """All that is wrong with the arguments of a call, without their values, which may be long."""
    faults = error.errors(include_url=False, include_input=False)
    texts = [f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {one_line(_in_words(each), 200)}" for each in faults]
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    hint = f"see the schema of {tool}; a long text: give its end" if _is_long(faults) else f"see the schema of {tool}"
    return WrongUsage(f"{tool}: {'; '.join([*(one_line(each, 300) for each in texts[:_SHOWN]), *more])}", hint=hint)


def _in_words(fault: ErrorDetails) -> str:
    words = _WORDS.get(fault["type"])
    return words.format(**fault.get("ctx", {})) if words is not None else fault["msg"]


def _is_long(faults: object) -> bool:
    return isinstance(faults, list) and any(each["type"].endswith("_too_long") for each in faults)
