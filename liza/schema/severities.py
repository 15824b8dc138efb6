"""How deep a flaw lies, and what follows from that: the fixed procedure, never a solution."""

from typing import NamedTuple


class Severity(NamedTuple):
    """What is wrong in which layer, how far the fix reaches, and what the people in charge do."""

    layer: str
    scope: str
    procedure: tuple[str, ...]


def _procedure(*steps: str) -> tuple[str, ...]:
    return ("HALT the current sprint (done)", *steps, "RESOLVE with the decision: liza resolve -m '...'")


SEVERITIES: dict[str, Severity] = {
    "VISION_FLAW": Severity(
        "a flaw in the vision",
        "stop; go back to the goal and the brief",
        _procedure(
            "REVISIT the goal and the brief with the people who set them", "REASSESS the whole plan before any task"
        ),
    ),
    "SCOPE_FLAW": Severity(
        "a flaw in the scope",
        "pause; revise the requirements",
        _procedure("REVISE the requirements that the evidence names", "REASSESS the affected tasks"),
    ),
    "SPEC_FLAW": Severity(
        "a flaw in the details of the requirements",
        "pause; update the specifications",
        _procedure("UPDATE the specifications that the evidence names", "REASSESS the affected tasks"),
    ),
    "ARCHITECTURE_FLAW": Severity(
        "a flaw in the architecture",
        "pause; write a decision record, perhaps refactor",
        _procedure(
            "RECORD an architecture decision on the common factor",
            "UPDATE the artifacts that it affects",
            "REASSESS the affected tasks",
        ),
    ),
    "TECH_STACK_FLAW": Severity(
        "a flaw in the tools or frameworks",
        "run a spike; perhaps choose another technology",
        _procedure("RUN a spike on the tool in question", "DECIDE whether to keep it", "REASSESS the affected tasks"),
    ),
    "EXTERNAL_DEPENDENCY": Severity(
        "an external service fails",
        "not the agents' problem; wait or escalate",
        _procedure("CHECK the state of the service", "WAIT for it or ESCALATE to its owner"),
    ),
}

UNKNOWN = Severity("a flaw in an unknown layer", "unknown severity", _procedure("NAME the right severity"))
