"""Settings: their precedence, and their ranges."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from liza.errors import Refused, Unreadable
from liza.schema.rules_yaml import SIGNALS
from liza.scopes.loops.settings import Settings, settings_of
from liza.scopes.rules_file import read_rules
from tests.cli.run import liza
from tests.scopes.loops.run import Loops


def settings(folder: Path, text: str = "", env: dict[str, str] | None = None, **options: Any) -> Settings:
    file = folder / "rules.yaml"
    file.write_text(text or "# nothing\n")
    return settings_of(read_rules(str(file)), env or {}, options)


def test_defaults_are_those_of_the_protocols(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert (found.threshold, found.action, found.task_timeout_iterations) == (3, "pause", 5)
    assert (found.max_loops_no_progress, found.stagnation_threshold, found.cooldown_seconds) == (10, 3, 300)
    assert (found.warning_threshold, found.critical_threshold, found.absolute_max_loops) == (8, 15, 20)
    assert found.models == ("haiku", "sonnet", "opus")


PROFILES = {
    "critical_feature": (15, 2), "research_task": (20, 5), "simple_script": (3, 10), "documentation": (5, 5),
    "debugging": (8, 2),
}  # fmt: skip


@pytest.mark.parametrize(("name", "limits"), PROFILES.items())
def test_five_project_types_have_their_limits(tmp_path: Path, name: str, limits: tuple[int, int]) -> None:
    found = settings(tmp_path, env={"PROJECT_TYPE": name})
    assert (found.max_loops_no_progress, found.stagnation_threshold) == limits
    assert settings(tmp_path, project=name) == found


# The sources of max_loops_no_progress, weakest last.
SOURCES = ("the file's project", "the shipped project", "the file")


@pytest.mark.parametrize("chosen", list(itertools.product([True, False], repeat=3)))
def test_limit_precedence_of_file_and_profile(tmp_path: Path, chosen: tuple[bool, ...]) -> None:
    own, profile, base = chosen
    block = "circuit_breaker:\n  absolute_max_loops: 20\n"
    block += "  max_loops_no_progress: 12\n" if base else ""
    block += "  projects:\n    debugging: {max_loops_no_progress: 14}\n" if own else ""
    found = settings(tmp_path, block, {"PROJECT_TYPE": "debugging"} if profile else {})
    wanted = 14 if own and profile else 8 if profile else 12 if base else 10
    assert found.max_loops_no_progress == wanted


@pytest.mark.parametrize("chosen", list(itertools.product([True, False], repeat=3)))
def test_threshold_precedence_option_environment_file(tmp_path: Path, chosen: tuple[bool, ...]) -> None:
    option, variable, file = chosen
    found = settings(
        tmp_path,
        "stagnation: {threshold: 7}\n" if file else "",
        {"LIZA_STAGNATION_THRESHOLD": "6"} if variable else {},
        stagnation_threshold=5 if option else None,
    )
    assert found.threshold == (5 if option else 6 if variable else 7 if file else 3)
    assert found.stagnation_threshold == 3  # percent, an unrelated setting


@pytest.mark.parametrize("chosen", list(itertools.product([True, False], repeat=3)))
def test_action_precedence_option_environment_file(tmp_path: Path, chosen: tuple[bool, ...]) -> None:
    option, variable, file = chosen
    found = settings(
        tmp_path,
        "stagnation: {action: alert}\n" if file else "",
        {"LIZA_ON_STAGNATION": "abort"} if variable else {},
        on_stagnation="escalate" if option else None,
    )
    assert found.action == ("escalate" if option else "abort" if variable else "alert" if file else "pause")


def test_empty_variable_is_ignored(tmp_path: Path) -> None:
    empty = dict.fromkeys(("PROJECT_TYPE", "LIZA_STAGNATION_THRESHOLD", "LIZA_ON_STAGNATION", "DEBUG"), "")
    assert settings(tmp_path, env=empty) == settings(tmp_path)


OUT_OF_RANGE = [
    "circuit_breaker: {max_loops_no_progress: 2}", "circuit_breaker: {max_loops_no_progress: 51}",
    "circuit_breaker: {stagnation_threshold: 0}", "circuit_breaker: {stagnation_threshold: 11}",
    "circuit_breaker: {cooldown_seconds: 59}", "circuit_breaker: {cooldown_seconds: 3601}",
    "circuit_breaker: {absolute_max_loops: 9}", "circuit_breaker: {absolute_max_loops: 1000}",
    "circuit_breaker: {warning_threshold: 4}", "circuit_breaker: {critical_threshold: 31}",
    "circuit_breaker: {max_loops_no_progress: 3.5}", "stagnation: {threshold: 2.5}",
    "circuit_breaker: {critical_threshold: 20}", "circuit_breaker: {absolute_max_loops: 15}",
    "circuit_breaker: {warning_threshold: 15}",
    "circuit_breaker: {warning_threshold: 10, projects: {debugging: {critical_threshold: 10}}}",
    "circuit_breaker: {max_loops_no_progress: ten}", "circuit_breaker: {max_loops_no_progress: true}",
    "circuit_breaker: {warning_threshold: 15, critical_threshold: 12}",
    "circuit_breaker: {critical_threshold: 15, absolute_max_loops: 15}",
    "circuit_breaker: {projects: {debugging: {stagnation_threshold: 50}}}",
    "circuit_breaker: {projects: {debugging: 5}}", "circuit_breaker: {projects: [debugging]}",
    "circuit_breaker: {max_loop: 5}", "stagnation: {threshold: 0}", "stagnation: {threshold: 51}",
    "stagnation: {action: explode}", "stagnation: {signals: {no_file_change: true}}",
    "stagnation: {signals: {no_file_changes: maybe}}", "stagnation: {signals: {task_timeout_iterations: -1}}",
    "stagnation: {escalation: {model_progression: []}}", "stagnation: {escalation: {enabled: 1}}",
    "stagnation: {notifications: 1}", "stagnation: [1]",
]  # fmt: skip


@pytest.mark.parametrize("text", OUT_OF_RANGE)
def test_setting_out_of_range_is_an_error_with_position(tmp_path: Path, text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        settings(tmp_path, f"{text}\n")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column is not None) == (1, True)


@pytest.mark.parametrize(("variable", "value"), [
    ("LIZA_STAGNATION_THRESHOLD", "0"), ("LIZA_STAGNATION_THRESHOLD", "three"), ("LIZA_STAGNATION_THRESHOLD", "-3"),
    ("LIZA_STAGNATION_THRESHOLD", "2.5"), ("LIZA_ON_STAGNATION", "stop"),
])  # fmt: skip
def test_variable_out_of_range_is_named(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(Refused, match=variable):
        settings(tmp_path, env={variable: value})


def test_levels_out_of_order_are_reported_with_position(loops: Loops) -> None:
    loops.write_rules("circuit_breaker:\n  cooldown_seconds: 90.5\n  absolute_max_loops: 12\n")
    message = "rules.yaml:3:3: error: circuit_breaker: critical_threshold (15) must be below absolute_max_loops (12)"
    assert message in loops.run("rules", "check").out
    assert loops.record("--files-changed", "1").code == 4


def test_project_levels_override_general_levels(tmp_path: Path) -> None:
    text = "circuit_breaker: {absolute_max_loops: 50, projects: {debugging: {critical_threshold: 30}}}\n"
    assert settings(tmp_path, text, project="debugging").critical_threshold == 30


def test_unknown_project_type_warns_or_is_refused(loops: Loops) -> None:
    """A warning from the environment, an error as an option."""
    loops.env = {"PROJECT_TYPE": "debuging"}
    ran = loops.record("--files-changed", "1")
    assert (ran.code, "did you mean debugging?" in ran.err) == (0, True)
    assert loops.record("--files-changed", "1", "--project", "debuging").code == 2


def test_chosen_project_limits_apply(loops: Loops) -> None:
    loops.env = {"PROJECT_TYPE": "simple_script"}
    assert loops.codes(*["--files-changed 1 --progress 0"] * 3) == [0, 0, 3]
    assert loops.at()["trigger_reason"] == "Stagnation: 3 loops without progress"


def test_larger_percentage_trips_sooner(loops: Loops) -> None:
    loops.write_rules("circuit_breaker: {stagnation_threshold: 10, max_loops_no_progress: 3}\n")
    assert loops.codes(*[f"--files-changed 1 --progress {each}" for each in (9, 18, 27)]) == [0, 0, 3]


def test_disabled_signal_is_shown(loops: Loops) -> None:
    loops.write_rules("stagnation: {signals: {no_file_changes: false, task_timeout_iterations: 0}}\n")
    assert loops.codes(*["--files-changed 0 --task t"] * 6) == [0] * 6
    status = loops.run("status").out
    assert "signals.no_file_changes is off" in status
    assert "task_timeout_iterations is 0 (default: 5)" in status


def test_every_rule_of_loops_is_a_signal_or_has_a_number() -> None:
    rules = {each.rule.name for each in read_rules(None, protocol="loops").scoped["loops"]}
    numbered = {"task_not_progressing", "absolute_max", "loop_warning", "loop_critical"}
    assert rules == {*SIGNALS, *numbered}


def test_rule_can_be_overridden_by_name(loops: Loops) -> None:
    loops.write_rules("rules: [{name: no_file_changes, params: {threshold: 2}}]\n")
    assert loops.codes("--files-changed 0", "--files-changed 0") == [0, 3]


def test_settings_can_come_from_another_file(loops: Loops) -> None:
    (loops.root / "mine.yaml").write_text("stagnation: {threshold: 2}\n")
    loops.env = {"CIRCUIT_CONFIG": str(loops.root / "mine.yaml")}
    assert loops.codes("--files-changed 0", "--files-changed 0") == [0, 3]
    loops.env = {"CIRCUIT_CONFIG": str(loops.root / "gone.yaml")}
    assert loops.record("--files-changed", "0").code == 4


@pytest.mark.parametrize("text", ["circuit_breaker: {absolute_max_loops: 5000}\n", "circuit_breaker: {"])
def test_broken_circuit_config_is_visible_everywhere(loops: Loops, text: str) -> None:
    (loops.root / "mine.yaml").write_text(text)
    loops.env = {"CIRCUIT_CONFIG": str(loops.root / "mine.yaml")}
    for command in ("status", "analyze", "doctor", "loop list"):
        ran = liza(loops.root, *command.split(), "--json", **loops.env)
        assert ran.code == 4, command
        faults = [each for each in ran.json["problems"] if "CIRCUIT_CONFIG" in each["message"]]
        assert [each["file"].rpartition("/")[2] for each in faults] == ["mine.yaml"], command


def test_generic_project_has_default_limits(loops: Loops) -> None:
    loops.env = {"PROJECT_TYPE": "generic"}
    assert "warning" not in loops.record("--files-changed", "1").err
    assert loops.record("--files-changed", "1", "--project", "generic").code == 0


@pytest.mark.parametrize("value", ["true", "1", "TRUE", "yes"])
def test_breaker_can_be_disabled_with_a_warning(loops: Loops, value: str) -> None:
    loops.env = {"CIRCUIT_BREAKER_DISABLED": value}
    for _ in range(4):
        ran = loops.record("--files-changed", "0")
        assert (ran.code, "warning: CIRCUIT_BREAKER_DISABLED" in ran.err) == (0, True)
    assert loops.at()["status"] == "CLOSED"


def test_enabled_again_it_evaluates_recorded_iterations(loops: Loops) -> None:
    loops.env = {"CIRCUIT_BREAKER_DISABLED": "true"}
    loops.codes("--files-changed 0", "--files-changed 0", "--files-changed 0")
    loops.env = {"CIRCUIT_BREAKER_DISABLED": "false"}
    assert loops.codes("--files-changed 0") == [3]


def test_debug_shows_progress_of_each_signal(loops: Loops) -> None:
    loops.env = {"DEBUG": "true"}
    assert "no_file_changes: 1 of 3" in loops.record("--files-changed", "0").err
