"""Blackboards to measure with: as after a long sprint, with comments, blank lines and a bit of everything."""

import os
import time
from collections.abc import Iterator

_HEAD = """\
# The blackboard of this project. People, agents and tools write here; liza watches it.
version: 1

goal:
  description: "Ship the importer: every record of the old system, none of its quirks"
  status: IN_PROGRESS

tasks:
  - id: task-1
    status: MERGED
    created: 2025-01-17T08:15:00Z
    spec_ref: specs/importer.md#parsing
    assigned_to: coder-1
    history:
      - {time: 2025-01-17T09:00:00Z, event: claimed, agent: coder-1}
      - {time: 2025-01-17T15:40:00Z, event: merged, agent: reviewer-1}
  - id: task-2  # depends on task-1
    status: CLAIMED
    created: 2025-01-17T08:15:00Z
    spec_ref: specs/importer.md#writing
    assigned_to: coder-2
    iteration: 3

agents:
  coder-1: {role: coder, status: IDLE}
  coder-2:
    role: coder
    status: WORKING
    current_task: task-2
    heartbeat: 2025-01-18T14:32:00Z

discovered:
  - id: disc-1
    urgency: deferred
    description: 'the old exporter writes dates in two formats'

# What went wrong, one record each. Agents add to it with: liza log anomaly
anomalies:
"""

_TAIL = """
sprint:
  id: sprint-7
  timeline:
    started: 2025-01-17T08:00:00Z  # older anomalies do not count
  metrics: {}

# liza's own section. Once it says TRIGGERED, it stays so until a person decides.
circuit_breaker:
  last_check: 2025-01-18T14:30:00Z
  status: OK  # OK, TRIGGERED
  current_trigger: null
  history: []

config:
  max_coder_iterations: 10
  max_review_cycles: 5
"""

# Types of anomalies with details as agents write them. Each pattern needs the first of its details.
_KINDS = (
    ("retry_loop", ("count: {few}", 'error_pattern: "serialization failure on nested entity {number}"')),
    ("trade_off", ('what: "batch {number} is kept in memory"', "why: streaming it needs another parser",
                   "debt_created: true")),
    ("external_blocker", ("blocker_service: payments-staging", 'error: "503 after {number} ms, see the gateway log"')),
    ("assumption_violated", ('assumption: "ids are unique per tenant, as in dump {number}"',
                             "reality: they repeat after a tenant was merged")),
    ("spec_gap", ("spec_ref: specs/importer.md#edge-case-{number}", "question: what to do with an empty address")),
    ("workaround", ('what: "row {number} is skipped and counted"', "file: importer/rows.py")),
)  # fmt: skip
_LACKS = ("task", "reporter", "detail")


def board(anomalies: int, *, faulty: bool = False) -> bytes:
    """A state.yaml with this many anomalies, about 250 bytes each. In a faulty one each lacks a field."""
    records = (line for number in range(anomalies) for line in _record(number, faulty))
    return (_HEAD + "\n".join(records) + "\n" + _TAIL).encode()


def _record(number: int, faulty: bool) -> Iterator[str]:
    lacks = _LACKS[number % len(_LACKS)] if faulty else None
    kind, details = _KINDS[number % len(_KINDS)]
    yield f"  - timestamp: 2025-01-18T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    if lacks != "task":
        yield f"    task: task-{number % 40 + 1}"
    if lacks != "reporter":
        yield f"    reporter: coder-{number % 4 + 1}"
    yield f"    type: {kind}" + ("  # the third one today" if number % 7 == 0 else "")
    yield "    details:"
    for detail in details[1:] if lacks == "detail" else details:
        yield "      " + detail.format(few=number % 5 + 1, number=number)
    yield f"      context: attempt {number % 9 + 1} in worktree wt-{number % 40 + 1}"
    if number % 10 == 9:
        yield "    # seen again after the rebase, so it is not the branch"
        yield ""


def put(path: str, raw: bytes) -> None:
    """A file as if it were an hour old: complete, on the disk, with nothing left to flush."""
    draft = path + ".draft"
    with open(draft, "wb") as file:
        file.write(raw)
        file.flush()
        an_hour_ago = time.time() - 3600
        os.utime(draft, (an_hour_ago, an_hour_ago))
        os.fsync(file.fileno())
    os.rename(draft, path)
