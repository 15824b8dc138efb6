"""The alert rules and the Grafana dashboard in docs/metrics/: Prometheus takes them, and each metric in them exists."""

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liza.metrics.collect import render
from liza.metrics.facts import read_facts
from liza.store.paths import find
from tests.docs.pages import ROOT
from tests.metrics.scraped import Scraped, promtool
from tests.store.oracle import ruamel_value

FOLDER = ROOT / "docs" / "metrics"
ALERTS, DASHBOARD = FOLDER / "alerts.yaml", FOLDER / "dashboard.json"
# What Prometheus' documentation has for a rule of an alert.
RULE = {"alert", "expr", "for", "labels", "annotations"}
CASES = """\
rule_files: [alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'liza_breaker_state{project="a", state="triggered"}', values: "0 0 1 1 1"}
      - {series: 'liza_open_trip_age_seconds{project="a", scope="session", rule="call_cycle"}', values: "0+3600x4"}
      - {series: 'liza_daemon_state{project="a", state="gone"}', values: "0 0 1 1 1"}
      - {series: 'liza_pattern_value{project="a", rule="retry_cluster"}', values: "2+0x10"}
      - {series: 'liza_pattern_threshold{project="a", rule="retry_cluster"}', values: "3+0x10"}
    alert_rule_test:
      - {eval_time: 1m, alertname: LizaTripped}
      - eval_time: 2m
        alertname: LizaTripped
        exp_alerts: [{exp_labels: {severity: critical, project: a, state: triggered}, exp_annotations: ANNOTATIONS}]
      - {eval_time: 2m, alertname: LizaDaemonDown}
      - {eval_time: 2m, alertname: LizaDecisionOverdue}
      - {eval_time: 4m, alertname: LizaPatternNear}
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all metrics."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / ".liza").mkdir()
    (folder / ".liza" / "state.yaml").write_text("version: 1\n")
    (folder / ".liza" / "watch.json").write_text(json.dumps({"last_check": "2026-01-01T00:00:00Z"}))
    return Scraped(render(read_facts(find(str(folder)), datetime.now(UTC))).decode()).names


def alerts() -> list[dict[str, Any]]:
    document: Any = ruamel_value(ALERTS.read_bytes())
    (group,) = document["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def named(expression: str) -> set[str]:
    return set(re.findall(r"\bliza_\w+", expression))


def test_alerts_have_the_documented_form_and_name_known_metrics(known: set[str]) -> None:
    for each in alerts():
        assert {"alert", "expr", "labels", "annotations"} <= each.keys() <= RULE
        assert re.fullmatch(r"Liza\w+", each["alert"])
        assert re.fullmatch(r"\d+[smh]", each.get("for", "1m"))
        assert each["labels"]["severity"] in ("critical", "warning", "info")
        assert each["annotations"].keys() == {"summary", "description"}
        assert "liza " in each["annotations"]["description"]
        assert named(each["expr"]) <= known, each["alert"]
    assert len({each["alert"] for each in alerts()}) == len(alerts())


def test_prometheus_takes_the_alerts_and_they_fire_when_they_should(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    shutil.copy(ALERTS, tmp_path)
    annotations = next(each["annotations"] for each in alerts() if each["alert"] == "LizaTripped")
    (tmp_path / "cases.yaml").write_text(CASES.replace("ANNOTATIONS", json.dumps(dict(annotations))))
    promtool("check", "rules", "alerts.yaml", folder=tmp_path)
    promtool("test", "rules", "cases.yaml", folder=tmp_path)


def test_each_metric_of_the_dashboard_exists(known: set[str]) -> None:
    board = json.loads(DASHBOARD.read_text())
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    assert set().union(*(named(target["expr"]) for target in targets)) <= known
    assert all(named(target["expr"]) for target in targets)
    assert {variable["name"] for variable in board["templating"]["list"]} == {"datasource", "project"}
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in board["panels"])
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
