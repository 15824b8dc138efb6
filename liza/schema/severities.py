"""How deep a flaw lies, and what follows from that: the fixed procedure, never a solution."""

from typing import NamedTuple


class Severity(NamedTuple):
    """Which layer is affected, how far the fix reaches, and what the people in charge do."""

    layer: str
    scope: str
    procedure: tuple[str, ...]


def _procedure(*steps: str) -> tuple[str, ...]:
    return ("HALT the current sprint (done)", *steps, "RESOLVE with the decision: liza resolve -m '...'")


SEVERITIES: dict[str, Severity] = {
    "VISION_FLAW": Severity(
        "why it is built",
        "stop; go back to the goal and the brief",
        _procedure(
            "REVISIT the goal and the brief with the people who set them", "REASSESS the whole plan before any task"
        ),
    ),
    "SCOPE_FLAW": Severity(
        "what is built",
        "pause; revise the requirements",
        _procedure("REVISE the requirements that the evidence names", "REASSESS the affected tasks"),
    ),
    "SPEC_FLAW": Severity(
        "the details of the requirements",
        "pause; update the specifications",
        _procedure("UPDATE the specifications that the evidence names", "REASSESS the affected tasks"),
    ),
    "ARCHITECTURE_FLAW": Severity(
        "how it is built",
        "pause; a new decision record, perhaps a refactoring",
        _procedure(
            "RECORD an architecture decision on the common factor",
            "UPDATE the artifacts that it affects",
            "REASSESS the affected tasks",
        ),
    ),
    "TECH_STACK_FLAW": Severity(
        "tools and frameworks",
        "a spike, perhaps another technology",
        _procedure("RUN a spike on the tool in question", "DECIDE whether to keep it", "REASSESS the affected tasks"),
    ),
    "EXTERNAL_DEPENDENCY": Severity(
        "an external service",
        "not an agent problem; wait or escalate",
        _procedure("CHECK the state of the service", "WAIT for it or ESCALATE to its owner"),
    ),
}

UNKNOWN = Severity("an unknown layer", "unknown severity", _procedure("NAME the right severity"))
