"""The tools of `liza mcp` in real clients: an agent reports a problem, and reads what was decided before."""

import json

from tests.cli.run import anomalies
from tests.clients_real.clients import SUBAGENTS
from tests.clients_real.lab import OPTIONS, Lab, working
from tests.clients_real.turns import Tool, Turn

REPORT = {"type": "spec_gap", "task": "task-3", "details": {"spec_ref": "specs/orders.md"}}
DECIDED = "orders without a customer are dropped"


def test_agent_reports_and_reads_decisions(lab: Lab, client: str) -> None:
    lab.set_up(client)
    assert lab.liza("install", client, "--mcp").code == 0
    approve(lab, client)
    assert lab.liza("trip", "-m", "orders without a customer", "--by", "dev").code == 3
    assert lab.liza("resolve", "-m", DECIDED, "--by", "dev").code == 0
    # Clients connect while the first turn runs, and offer the tools from the second one on.
    turns: list[Turn] = [
        working("a", 0),
        Tool("report_anomaly", REPORT),
        Tool("decisions", {"about": "customer of orders"}),
    ]
    agent = lab.start(client, turns, OPTIONS._replace(model=SUBAGENTS, seconds=4.0))
    agent.finish()
    assert [(each["type"], each["details"]) for each in anomalies(lab.project)] == [("spec_gap", REPORT["details"])]
    assert DECIDED in agent.requests[-1].text


def approve(lab: Lab, client: str) -> None:
    """What a person does when the client asks about the new server."""
    if client == "claude":
        file = lab.home / ".claude" / "settings.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"enabledMcpjsonServers": ["liza"]}))
