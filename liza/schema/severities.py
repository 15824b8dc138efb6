"""The severities in the protocol's words: which layer is at fault, and the fixed procedure, never a solution."""

from typing import NamedTuple


class Severity(NamedTuple):
    """The layer that is affected, the scope of the remediation, and what the people in charge do."""

    layer: str
    remediation: str
    procedure: tuple[str, ...]
    assign: str  # the third item of the human decision


def _severity(layer: str, remediation: str, assign: str, steps: tuple[str, ...], resume: str) -> Severity:
    last = f"RESUME after {resume}: liza resolve -m '...'"
    return Severity(layer, remediation, ("HALT current sprint (done)", *steps, last), f"Assign {assign}")


_REASSESS = "REASSESS affected tasks"
SEVERITIES: dict[str, Severity] = {
    "VISION_FLAW": _severity(
        "Why we're building",
        "Stop, revisit goal and brief",
        "revision of goal and brief",
        ("REVISIT goal and brief", "REASSESS all tasks"),
        "goal and brief confirmed",
    ),
    "SCOPE_FLAW": _severity(
        "What we're building (MVP)",
        "Pause, revise PRD/requirements",
        "revision of PRD/requirements",
        ("REVISE PRD/requirements", _REASSESS),
        "PRD/requirements updated",
    ),
    "SPEC_FLAW": _severity(
        "Requirements detail",
        "Pause, update specs",
        "spec updates",
        ("UPDATE affected specs", _REASSESS),
        "specs updated",
    ),
    "ARCHITECTURE_FLAW": _severity(
        "How we're building",
        "Pause, new ADR, possible refactor",
        "ADR creation",
        ("CREATE ADR for the common factor", "UPDATE affected artifacts", _REASSESS),
        "artifacts updated",
    ),
    "TECH_STACK_FLAW": _severity(
        "Tools/frameworks",
        "Spike needed, possible tech pivot",
        "spike",
        ("RUN spike", "DECIDE on tech pivot", _REASSESS),
        "decision logged",
    ),
    "EXTERNAL_DEPENDENCY": _severity(
        "External services",
        "Halt sprint, external issue, not agent problem; wait or escalate",
        "escalation to the owner of the service",
        ("CHECK the service", "WAIT or ESCALATE to its owner"),
        "service available",
    ),
}

FALSE_ALARM = "false_alarm"
CAUSES = (*SEVERITIES, FALSE_ALARM)  # what a decision may name as the cause of a trip

UNKNOWN = _severity("unknown layer", "unknown severity", "severity", ("NAME the severity",), "decision logged")
