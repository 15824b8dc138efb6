"""The options of a daemon, each with its default."""

from typing import NamedTuple


class Options(NamedTuple):
    interval: float = 1.0  # seconds; a change without an event is acted on after that long
    poll: bool = False
    observe: bool = False  # evaluate and report, never halt
    metrics: str | None = None  # a file for node_exporter, kept up to date
