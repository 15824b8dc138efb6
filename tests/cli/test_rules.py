"""`liza rules list`, `check` and `explain`, as a person at a shell uses them."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Result, liza, new_board, on_a_terminal
from tests.cli.test_untrusted_text import NASTY, harmless

NOW = ("--now", "2025-01-18T18:00:00Z")
SHIPPED = [
    "retry_cluster", "debt_accumulation", "assumption_cascade", "workaround_pattern", "spec_gap_cluster",
    "external_service_outage",
]  # fmt: skip
GATEWAY = ("HTTP 502 from the gateway", "HTTP 503 from the gateway")
HUGE = "9" * 5_000
FLOOD = "x" * (1 << 20)
# NASTY as a double-quoted YAML string.
QUOTED = '"' + NASTY.replace("\x1b", r"\e").replace("\x07", r"\a").replace("\x9b", r"\x9b") + r'\0"'


def anomaly(text: str, at: str = "14:00", task: str = "task-1", kind: str = "retry_loop") -> str:
    where = f"timestamp: 2025-01-18T{at}:00Z, task: {task}, reporter: coder-1, type: {kind}"
    return f"- {{{where}, error_pattern: {text}}}\n"


def state(*anomalies: str, more: str = "") -> str:
    sprint = "sprint: {timeline: {started: 2025-01-18T09:00:00Z}}\n"
    return f"version: 1\n{sprint}{more}anomalies:{'' if anomalies else ' []'}\n{''.join(anomalies)}"


def custom_rules(folder: Path, text: str) -> Path:
    file = folder / ".liza" / "rules.yaml"
    file.write_text(text)
    return file


def rule(condition: str, name: str = "own", more: str = "") -> str:
    return f"rules:\n- name: {name}\n  condition: {condition}\n  severity: SPEC_FLAW\n{more}"


def envelope(result: Result, command: str, status: str) -> dict[str, Any]:
    answer = result.json
    assert (answer["schema"], answer["command"], answer["status"]) == (1, command, status)
    assert isinstance(answer["problems"], list)
    return answer


# --- list -------------------------------------------------------------------------------------------------------------


def test_shipped_rules_are_listed_in_order(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "list")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines[: 2 * len(SHIPPED) : 2]] == SHIPPED
    assert lines[0].split(None, 1)[1] == "ARCHITECTURE_FLAW, CHECKPOINT, current_sprint, pack systemic"
    assert lines[1] == "  count(type=retry_loop, similar(error_pattern)) >= 3"


CHANGED = """\
window: 24h
rules:
  - name: retry_cluster
    condition: count(type=retry_loop, similar(error_pattern)) >= 5
  - name: spec_gap_cluster
    enabled: false
  - name: many_workarounds
    condition: count(type=workaround) >= 5
    severity: SPEC_FLAW
    mode: observe
    window: last 50
"""


def test_list_shows_changes_of_own_file(tmp_path: Path) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, CHANGED)
    result = liza(tmp_path, "rules", "list")
    assert result.code == 0
    lines = result.out.splitlines()
    assert "many_workarounds  SPEC_FLAW, observed only, last 50, rules.yaml" in lines
    assert "spec_gap_cluster  disabled, pack systemic" in lines
    assert [line for line in lines if line.startswith("!")] == [
        "! rules.yaml: window is '24h' (default: 'current_sprint')",
        "! rules.yaml: retry_cluster: condition is 'count(type=retry_loop, similar(error_pattern)) >= 5' "
        "(default: 'count(type=retry_loop, similar(error_pattern)) >= 3')",
        "! rules.yaml: spec_gap_cluster is disabled",
    ]


def test_json_of_the_list(tmp_path: Path) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, CHANGED)
    answer = envelope(liza(tmp_path, "rules", "list", "--json"), "rules list", "ok")
    listed = {each["name"]: each for each in answer["rules"]}
    assert len(listed) == len(answer["rules"])
    assert set(listed) >= {*SHIPPED, "many_workarounds"}
    assert [name for name, each in listed.items() if not each["enabled"]] == ["spec_gap_cluster"]
    assert [listed[name]["window"] for name in ("retry_cluster", "many_workarounds")] == ["24h", "last 50"]
    assert listed["many_workarounds"]["mode"] == "observe"
    assert (answer["window"], len(answer["changes"])) == ("24h", 3)


def test_rules_option_lists_without_a_board(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CHANGED)
    result = liza(tmp_path, "rules", "list", "--rules", "mine.yaml")
    assert result.code == 0
    assert "many_workarounds" in result.out


@pytest.mark.parametrize("words", [("list",), ("explain", "retry_cluster")], ids=lambda words: words[0])
def test_invalid_rules_file_shows_only_errors(tmp_path: Path, words: tuple[str, ...]) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, "windw: all\nmatching: exat\n")
    result = liza(tmp_path, "rules", *words)
    assert (result.code, result.out) == (4, "")
    assert [line for line in result.err.splitlines() if "hint" in line] == [
        "  hint: did you mean window?",
        "  hint: did you mean exact?",
    ]
    answer = envelope(liza(tmp_path, "rules", *words, "--json"), f"rules {words[0]}", "degraded")
    assert [(each["line"], each["column"]) for each in answer["problems"]] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("style", ["|", ">"])
def test_multiline_condition_is_shown_on_one_line(tmp_path: Path, style: str) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, rule(f"{style}\n    count(type=retry_loop)\n    >= 3"))
    for words in (("list",), ("explain", "own")):
        out = liza(tmp_path, "rules", *words).out
        assert "  count(type=retry_loop) >= 3\n" in out


# --- check ------------------------------------------------------------------------------------------------------------

BAD = """\
windw: all
window: yesterday
rules:
  - name: retry_clutser
    conditon: x
    severity: ARCH_FLAW
  - name: own
    condition: cuont(type=retry_loop) >= 3
    severity: SPEC_FLAW
  - nothing
  - name: retry_cluster
    action: CHECKPIONT
    enabled: "no"
    params: {a: x}
"""
ERRORS = {
    (1, 1): "did you mean window?",
    (2, 1): None,
    (4, 5): "did you mean retry_cluster?",
    (5, 5): "did you mean condition?",
    (6, 5): "one of: VISION_FLAW, SCOPE_FLAW, SPEC_FLAW, ARCHITECTURE_FLAW, TECH_STACK_FLAW, EXTERNAL_DEPENDENCY",
    (8, 16): "did you mean count?",
    (10, 5): None,
    (12, 5): "did you mean CHECKPOINT?",
    (13, 5): None,
    (14, 5): None,
}


def test_every_error_is_listed_with_position(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    result = liza(tmp_path, "rules", "check", "bad.yaml")
    assert (result.code, result.err) == (1, "")
    expected: list[str] = []
    for (line, column), hint in ERRORS.items():
        expected += [f"bad.yaml:{line}:{column}: error: "] + ([f"  hint: {hint}"] if hint else [])
    lines = result.out.splitlines()
    assert lines[-1] == "bad.yaml: invalid: 10 errors"
    assert len(lines) == len(expected) + 1
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=False)), result.out


def test_json_of_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    result = liza(tmp_path, "rules", "check", "bad.yaml", "--json")
    assert (result.code, result.err) == (1, "")
    problems = envelope(result, "rules check", "invalid")["problems"]
    assert {(each["line"], each["column"]): each["hint"] for each in problems} == ERRORS
    assert {(each["file"], each["level"]) for each in problems} == {("bad.yaml", "error")}
    assert all(each["message"] for each in problems)


def test_own_file_is_checked_unless_another_is_named(tmp_path: Path) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, BAD)
    result = liza(tmp_path, "rules", "check")
    assert result.code == 1
    assert result.out.startswith(".liza/rules.yaml:1:1: error: ")
    (tmp_path / "good.yaml").write_text(CHANGED)
    assert liza(tmp_path, "rules", "check", "good.yaml").code == 0


def test_good_file_is_ok_and_its_changes_are_listed(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(CHANGED)
    result = liza(tmp_path, "rules", "check", "good.yaml")
    assert (result.code, result.err) == (0, "")
    first, *rest = result.out.splitlines()
    assert first.startswith("good.yaml: ok, 7 rules for the sprint, ")
    assert first.endswith(" others, 1 disabled")
    assert [line[0] for line in rest] == ["!", "!", "!"]
    answer = envelope(liza(tmp_path, "rules", "check", "good.yaml", "--json"), "rules check", "ok")
    assert (answer["rules"], answer["disabled"], len(answer["changes"]), answer["problems"]) == (7, 1, 3, [])


def test_file_without_rules_is_ok(tmp_path: Path) -> None:
    for text in ("", "# nothing yet\n", "---\n", "rules:\n", "rules: []\n"):
        (tmp_path / "rules.yaml").write_text(text)
        result = liza(tmp_path, "rules", "check", "rules.yaml")
        assert result.code == 0, text
        assert result.out.startswith("rules.yaml: ok, 7 rules for the sprint, "), text


def test_board_without_custom_rules_has_shipped_ones(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "check")
    assert result.code == 0
    assert result.out.startswith("there is no .liza/rules.yaml, so the shipped rules: ok, 7 rules for the sprint, ")


UNREADABLE = {
    "not there": (None, "file not found"),
    "not YAML": (b"rules: [\n", "not valid YAML"),
    "not UTF-8": (b"\xff\xfe\x00", "not UTF-8"),
    "a list": (b"- a\n", "got a list"),
    "a key twice": (b"window: all\nwindow: all\n", "duplicate"),
    "too deep": (b"rules: " + b"[" * 5_000 + b"]" * 5_000, "recursion limit"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_file_is_one_error_with_hint(tmp_path: Path, name: str) -> None:
    raw, message = UNREADABLE[name]
    if raw is not None:
        (tmp_path / "r.yaml").write_bytes(raw)
    result = liza(tmp_path, "rules", "check", "r.yaml")
    assert (result.code, result.err) == (1, "")
    assert message in result.out
    assert result.out.endswith("r.yaml: invalid: 1 error\n")
    (problem,) = envelope(liza(tmp_path, "rules", "check", "r.yaml", "--json"), "rules check", "invalid")["problems"]
    assert problem["file"] == "r.yaml"
    assert not [word for word in ("liza init", "liza validate", "mv ") if word in str(problem["hint"])]


def test_folder_is_not_a_rules_file(tmp_path: Path) -> None:
    result = liza(tmp_path, "rules", "check", ".")
    assert result.code == 1
    assert "it is a folder" in result.out
    assert "mv " not in result.out


ODD_RULES = {
    "a huge window": f"window: last {HUGE}\n",
    "a huge window of a rule": f"rules: [{{name: retry_cluster, window: last {HUGE}}}]\n",
    "a huge duration": f"window: {HUGE}d\n",
    "huge values": f"window: {HUGE}\nrules: {HUGE}\nparams: {HUGE}\nmatching: {HUGE}\n",
    "huge values of a rule": f"rules: [{{name: {HUGE}, severity: {HUGE}, condition: {HUGE}, enabled: {HUGE}}}]\n",
    "huge params": f"params: {{a: {HUGE}, b: -{HUGE}}}\n",
    "a huge key": f"? {HUGE}\n: 1\n",
    "a huge threshold": rule(f"count() >= {HUGE}"),
    "a huge similarity": rule(f"count(similar(a, {HUGE})) >= 1"),
    "a long key": f"{FLOOD[:1000]}: 1\n",
    "a long window": f"window: {FLOOD}\n",
    "a long condition": rule(f"count(type={FLOOD}) >= 1"),
    "a long word": rule(FLOOD),
    "a long param": rule(f"count() >= ${FLOOD}"),
    "a long description": rule("count() >= 1", more=f"  description: {FLOOD}\n"),
    "a nasty key": f"{QUOTED}: 1\n",
    "nasty values": f"window: {QUOTED}\nmatching: {QUOTED}\nparams: {{{QUOTED}: {QUOTED}}}\n",
    "nasty values of a rule": f"rules: [{{name: {QUOTED}, severity: {QUOTED}, {QUOTED}: 1}}]\n",
    "a nasty condition": rule(QUOTED),
    "a nasty word in a condition": rule(QUOTED.replace('"', "'count(type=", 1)[:-3] + ") >= 1'"),
    "a nasty description": rule("count() >= 1", more=f"  description: {QUOTED}\n"),
}


@pytest.mark.parametrize("text", ODD_RULES.values(), ids=ODD_RULES.keys())
def test_any_odd_rules_file_is_handled(tmp_path: Path, text: str) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, text)
    for words in (("check",), ("list",), ("explain", "own")):
        result = on_a_terminal(tmp_path, "rules", *words)
        assert result.code in (0, 1, 4), result.out[:1000]
        assert harmless(result.out), ascii(result.out)[:1000]
        assert len(result.out) < 10_000, words
        answer = liza(tmp_path, "rules", *words, "--json")
        assert (answer.code, answer.out.isascii()) == (result.code, True)
        assert answer.json["schema"] == 1


def test_names_from_the_command_line_are_escaped(tmp_path: Path) -> None:
    new_board(tmp_path)
    for words in (["check", NASTY], ["list", "--rules", NASTY], ["explain", NASTY], [NASTY], ["list", NASTY]):
        result = on_a_terminal(tmp_path, "rules", *words)
        assert result.code in (1, 2, 4)
        assert harmless(result.out), ascii(result.out)
