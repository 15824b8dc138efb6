"""Leftovers of killed daemons: files and repeated messages."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.daemon.daemon import Watched
from tests.faults.soak_parts.figures import Figures
from tests.faults.soak_parts.supervisor import DaemonRun

_FILES = {
    "state.yaml", "state.yaml.lock", "log.yaml", "rules.yaml", "circuit_breaker_report.md", "CHECKPOINT", "alerts.log",
    "watch.json", "watch.lock", "reports", "backups", "ESCALATION",
}  # fmt: skip


def leftovers(board: Watched) -> list[str]:
    """Files that do not belong to a blackboard; below `state` only liza's own, no traceback of a bug."""
    found = [path for path in board.folder.iterdir() if path.name not in _FILES]
    for folder in (board.folder / "reports", board.folder / "backups"):
        found += [path for path in folder.glob("*") if path.name.startswith(".")]
    state = [path for path in (board.root / "state").rglob("*") if path.is_file()]
    kept = ("reported-*.json", "key")
    found += [path for path in state if not any(map(path.match, kept))]
    return [f"left behind: {path.relative_to(board.root)}" for path in sorted(found)]


def repeated_trip_messages(notices: Path) -> list[str]:
    """Messages about one trip that were sent more than once, however often the daemon was restarted."""
    lines = notices.read_text(encoding="utf-8").splitlines() if notices.exists() else []
    messages = [json.loads(line) for line in lines]
    sent = Counter((each["kind"], each["trip_id"]) for each in messages if each["trip_id"])
    return [f"{kind} {trip}: sent {count} times" for (kind, trip), count in sent.items() if count > 1]


def daemon_figures(daemons: Sequence[DaemonRun], figures: Figures) -> None:
    figures.add(
        daemons_started=len(daemons),
        daemons_killed=len(daemons) - 1,
        seconds_watched=round(sum(each.ended - each.began for each in daemons)),
    )
    for each in daemons:
        figures.at_most("MB of a daemon at most", each.megabytes)
