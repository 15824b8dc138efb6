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
# As YAML writes it in double quotes.
QUOTED = '"' + NASTY.replace("\x1b", r"\e").replace("\x07", r"\a").replace("\x9b", r"\x9b") + r'\0"'


def anomaly(text: str, at: str = "14:00", task: str = "task-1", kind: str = "retry_loop") -> str:
    where = f"timestamp: 2025-01-18T{at}:00Z, task: {task}, reporter: coder-1, type: {kind}"
    return f"- {{{where}, error_pattern: {text}}}\n"


def state(*anomalies: str, more: str = "") -> str:
    sprint = "sprint: {timeline: {started: 2025-01-18T09:00:00Z}}\n"
    return f"version: 1\n{sprint}{more}anomalies:{'' if anomalies else ' []'}\n{''.join(anomalies)}"


def own_rules(folder: Path, text: str) -> Path:
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


def test_the_shipped_rules_are_listed_in_their_order(tmp_path: Path) -> None:
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


def test_what_the_own_file_changes_is_told(tmp_path: Path) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, CHANGED)
    result = liza(tmp_path, "rules", "list")
    assert result.code == 0
    lines = result.out.splitlines()
    assert "many_workarounds  SPEC_FLAW, observed only, last 50, rules.yaml" in lines
    assert "spec_gap_cluster  disabled, pack systemic" in lines
    assert [line for line in lines if line.startswith("!")] == [
        "! rules.yaml: window is '24h', shipped is 'current_sprint'",
        "! rules.yaml: retry_cluster: condition is 'count(type=retry_loop, similar(error_pattern)) >= 5', "
        "shipped is 'count(type=retry_loop, similar(error_pattern)) >= 3'",
        "! rules.yaml: spec_gap_cluster is disabled",
    ]


def test_the_json_of_the_list(tmp_path: Path) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, CHANGED)
    answer = envelope(liza(tmp_path, "rules", "list", "--json"), "rules list", "ok")
    listed = {each["name"]: each for each in answer["rules"]}
    assert len(listed) == len(answer["rules"])
    assert set(listed) >= {*SHIPPED, "many_workarounds"}
    assert [name for name, each in listed.items() if not each["enabled"]] == ["spec_gap_cluster"]
    assert [listed[name]["window"] for name in ("retry_cluster", "many_workarounds")] == ["24h", "last 50"]
    assert listed["many_workarounds"]["mode"] == "observe"
    assert (answer["window"], len(answer["changes"])) == ("24h", 3)


def test_rules_of_another_file_are_listed_without_a_blackboard(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CHANGED)
    result = liza(tmp_path, "rules", "list", "--rules", "mine.yaml")
    assert result.code == 0
    assert "many_workarounds" in result.out


@pytest.mark.parametrize("words", [("list",), ("check",), ("explain", "retry_cluster")], ids=lambda words: words[0])
def test_without_a_blackboard_it_is_said_how_to_make_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = liza(tmp_path, "rules", *words)
    assert result.code == 1
    assert "no .liza/" in result.err
    assert "liza init" in result.hint()


@pytest.mark.parametrize("words", [("list",), ("explain", "retry_cluster")], ids=lambda words: words[0])
def test_with_a_file_of_rules_that_cannot_be_used_nothing_is_shown(tmp_path: Path, words: tuple[str, ...]) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, "windw: all\nmatching: exat\n")
    result = liza(tmp_path, "rules", *words)
    assert (result.code, result.out) == (4, "")
    assert [line for line in result.err.splitlines() if "hint" in line] == [
        "  hint: did you mean window?",
        "  hint: did you mean exact?",
    ]
    answer = envelope(liza(tmp_path, "rules", *words, "--json"), f"rules {words[0]}", "degraded")
    assert [(each["line"], each["column"]) for each in answer["problems"]] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("style", ["|", ">"])
def test_a_condition_of_several_lines_is_shown_on_one(tmp_path: Path, style: str) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, rule(f"{style}\n    count(type=retry_loop)\n    >= 3"))
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
    (2, 1): "one of: current_sprint, all, a duration like 24h, last 50",
    (4, 5): "did you mean retry_cluster?",
    (5, 5): "did you mean condition?",
    (6, 5): "one of: VISION_FLAW, SCOPE_FLAW, SPEC_FLAW, ARCHITECTURE_FLAW, TECH_STACK_FLAW, EXTERNAL_DEPENDENCY",
    (8, 16): "did you mean count?",
    (10, 5): None,
    (12, 5): "did you mean CHECKPOINT?",
    (13, 5): None,
    (14, 5): None,
}


def test_every_error_of_a_file_is_listed_at_once_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    result = liza(tmp_path, "rules", "check", "bad.yaml")
    assert (result.code, result.err) == (1, "")
    expected: list[str] = []
    for (line, column), hint in ERRORS.items():
        expected += [f"bad.yaml:{line}:{column}: error: "] + ([f"  hint: {hint}"] if hint else [])
    lines = result.out.splitlines()
    assert lines[-1] == "bad.yaml: cannot be used: 10 errors"
    assert len(lines) == len(expected) + 1
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=False)), result.out


def test_the_json_of_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    result = liza(tmp_path, "rules", "check", "bad.yaml", "--json")
    assert (result.code, result.err) == (1, "")
    problems = envelope(result, "rules check", "invalid")["problems"]
    assert {(each["line"], each["column"]): each["hint"] for each in problems} == ERRORS
    assert {(each["file"], each["level"]) for each in problems} == {("bad.yaml", "error")}
    assert all(each["message"] for each in problems)


def test_the_blackboards_own_file_is_checked_unless_another_is_named(tmp_path: Path) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, BAD)
    result = liza(tmp_path, "rules", "check")
    assert result.code == 1
    assert result.out.startswith(".liza/rules.yaml:1:1: error: ")
    (tmp_path / "good.yaml").write_text(CHANGED)
    assert liza(tmp_path, "rules", "check", "good.yaml").code == 0


def test_a_good_file_can_be_used_and_what_it_changes_is_told(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(CHANGED)
    result = liza(tmp_path, "rules", "check", "good.yaml")
    assert (result.code, result.err) == (0, "")
    first, *rest = result.out.splitlines()
    assert first == "good.yaml: ok, 6 rules in force, 1 disabled"
    assert [line[0] for line in rest] == ["!", "!", "!"]
    answer = envelope(liza(tmp_path, "rules", "check", "good.yaml", "--json"), "rules check", "ok")
    assert (answer["rules"], answer["disabled"], len(answer["changes"]), answer["problems"]) == (6, 1, 3, [])


def test_a_file_without_a_rule_is_good(tmp_path: Path) -> None:
    for text in ("", "# nothing yet\n", "---\n", "rules:\n", "rules: []\n"):
        (tmp_path / "rules.yaml").write_text(text)
        result = liza(tmp_path, "rules", "check", "rules.yaml")
        assert (result.code, result.out) == (0, "rules.yaml: ok, 6 rules in force\n"), text


def test_a_blackboard_without_own_rules_has_the_shipped_ones(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "check")
    assert result.code == 0
    assert result.out == "there is no .liza/rules.yaml, so the shipped rules: ok, 6 rules in force\n"


UNREADABLE = {
    "not there": (None, "is not there"),
    "not YAML": (b"rules: [\n", "not readable as YAML"),
    "not UTF-8": (b"\xff\xfe\x00", "not UTF-8"),
    "a list": (b"- a\n", "it holds a list"),
    "a key twice": (b"window: all\nwindow: all\n", "duplicate"),
    "too deep": (b"rules: " + b"[" * 5_000 + b"]" * 5_000, "recursion limit"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_one_error_with_a_hint_that_fits_a_file_of_rules(
    tmp_path: Path, name: str
) -> None:
    raw, message = UNREADABLE[name]
    if raw is not None:
        (tmp_path / "r.yaml").write_bytes(raw)
    result = liza(tmp_path, "rules", "check", "r.yaml")
    assert (result.code, result.err) == (1, "")
    assert message in result.out
    assert result.out.endswith("r.yaml: cannot be used: 1 error\n")
    (problem,) = envelope(liza(tmp_path, "rules", "check", "r.yaml", "--json"), "rules check", "invalid")["problems"]
    assert problem["file"] == "r.yaml"
    assert not [word for word in ("liza init", "liza validate", "mv ") if word in str(problem["hint"])]


def test_a_folder_is_no_file_of_rules(tmp_path: Path) -> None:
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
def test_no_file_of_rules_is_too_odd_to_be_checked_listed_and_explained(tmp_path: Path, text: str) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, text)
    for words in (("check",), ("list",), ("explain", "own")):
        result = on_a_terminal(tmp_path, "rules", *words)
        assert result.code in (0, 1, 4), result.out[:1000]
        assert harmless(result.out), ascii(result.out)[:1000]
        assert len(result.out) < 10_000, words
        answer = liza(tmp_path, "rules", *words, "--json")
        assert (answer.code, answer.out.isascii()) == (result.code, True)
        assert answer.json["schema"] == 1


def test_names_that_are_given_come_back_harmless(tmp_path: Path) -> None:
    new_board(tmp_path)
    for words in (["check", NASTY], ["list", "--rules", NASTY], ["explain", NASTY], [NASTY], ["list", NASTY]):
        result = on_a_terminal(tmp_path, "rules", *words)
        assert result.code in (1, 2, 4)
        assert harmless(result.out), ascii(result.out)


# --- explain ----------------------------------------------------------------------------------------------------------

SEEN = (
    anomaly("timeout after 30 s", "14:00", "task-1"),
    anomaly("timeout after 31 s", "14:10", "task-2"),
    anomaly(GATEWAY[0], "14:20", "task-3"),
    anomaly(GATEWAY[1], "14:30", "task-4"),
    anomaly("null", "14:40", "task-5"),
    anomaly("timeout after 32 s", "08:00", "task-6"),
    anomaly("timeout", "14:50", "task-7", kind="workaround"),
)


def test_explain_shows_the_groups_the_fullest_first_and_what_each_lacks(tmp_path: Path) -> None:
    file = new_board(tmp_path, state(*SEEN))
    result = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW)
    assert (result.code, result.err) == (0, "")
    head, condition, description, window, _, *rest = result.out.splitlines()
    assert head == "retry_cluster  ARCHITECTURE_FLAW, CHECKPOINT"
    assert window == "  window: current_sprint, since 2025-01-18T09:00:00Z"
    assert condition == "  count(type=retry_loop, similar(error_pattern)) >= 3"
    assert description == "  Same error type recurring across tasks"
    assert [line for line in rest if line.startswith("◐")] == [
        "◐ 2 of 3  timeout after 30 s  one more would match",
        f"◐ 1 of 3  {GATEWAY[0]}  2 more would match",
        f"◐ 1 of 3  {GATEWAY[1]}  2 more would match",
    ]
    assert "    anomalies[1]  task-2  2025-01-18T14:10:00Z  timeout after 31 s" in rest
    assert "not counted: 3" in rest
    assert "nearly" not in result.out
    assert file.read_text() == state(*SEEN)


def test_explain_missed_shows_what_does_not_count_and_what_nearly_met(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    out = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", *NOW).out
    assert "  anomalies[4]  task-5: it has no error_pattern\n" in out
    assert "  anomalies[5]  task-6: before the window\n" in out
    nearly = out.partition("nearly together:\n")[2].splitlines()
    assert nearly[0].split(None, 1) == ["0.94", GATEWAY[0]]
    assert nearly[1].strip() == GATEWAY[1]
    assert nearly[2].strip().startswith("apart: ")
    assert "502 / 503" in nearly[2]


def test_the_json_of_explain(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    answer = envelope(liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW), "rules explain", "ok")
    groups = [(each["key"], each["count"], each["threshold"], each["matches"]) for each in answer["groups"]]
    assert groups == [("timeout after 30 s", 2, 3, False), (GATEWAY[0], 1, 3, False), (GATEWAY[1], 1, 3, False)]
    assert [each["key"] for each in answer["groups"][0]["evidence"]] == [0, 1]
    assert answer["groups"][0]["texts"] == [
        {"text": "timeout after 30 s", "count": 1},
        {"text": "timeout after 31 s", "count": 1},
    ]
    assert (answer["window"], answer["since"]) == ("current_sprint", "2025-01-18T09:00:00Z")
    assert answer["not_counted"] == {"it has no error_pattern": 1, "before the window": 1, "type is 'workaround'": 1}
    assert (answer["missed"], answer["near"]) == (None, None)
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", "--missed", *NOW).json
    assert {each["key"] for each in answer["missed"]} == {4, 5, 6}
    (near,) = answer["near"]
    assert ({near["one"], near["other"]}, near["together"]) == (set(GATEWAY), False)
    assert near["similarity"] == pytest.approx(0.94, abs=0.01)


def test_explain_says_what_matches_where_a_check_would_trip(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN, anomaly("timeout after 9 s", "15:00", "task-9")))
    out = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW).out
    assert "● 3 of 3  timeout after 30 s  matches\n" in out
    assert liza(tmp_path, "analyze", "--dry-run", *NOW).code == 3


SILENCE = (
    "silences:\n- {id: silence-1, rule: retry_cluster, match: {error_pattern: timeout after 1 s}, reason: known, by: a,"
    " created: 2025-01-18T17:00:00Z, until: 2025-01-18T19:00:00Z}\n"
)


def test_explain_tells_what_is_silenced(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN, anomaly("timeout after 9 s", "15:00", "task-9"), more=SILENCE))
    result = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW)
    assert "● 3 of 3  timeout after 30 s  silenced\n" in result.out
    assert "by a: known [silence-1]" in result.out
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json
    assert [each["silence"]["id"] for each in answer["silenced"]] == ["silence-1"]


def test_what_a_resolution_dealt_with_is_not_said_to_match(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN, anomaly("timeout after 9 s", "15:00", "task-9")))
    own_rules(tmp_path, "rules:\n- {name: retry_cluster, rearm: any_new}\n")
    assert liza(tmp_path, "analyze", *NOW).code == 3
    assert liza(tmp_path, "resolve", "-m", "ADR-3", "--by", "ann").code == 0
    assert liza(tmp_path, "analyze", *NOW).code == 0
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json
    assert not any(each["matches"] for each in answer["groups"])


def test_a_group_that_lacks_different_values_is_shown(tmp_path: Path) -> None:
    new_board(tmp_path, state(*[anomaly("timeout", f"14:0{n}") for n in range(3)]))
    own_rules(tmp_path, rule('"count(type=retry_loop, similar(error_pattern), distinct(task) >= 3) >= 3"'))
    out = liza(tmp_path, "rules", "explain", "own", *NOW).out
    assert "nothing counts" not in out
    assert "task" in out.partition("\n\n")[2]


def test_with_exact_only_equal_texts_are_in_a_group(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--exact", "--missed", "--json", *NOW).json
    assert ([each["count"] for each in answer["groups"]], answer["near"]) == ([1, 1, 1, 1], [])


def test_a_condition_that_nothing_counts_for_says_so(tmp_path: Path) -> None:
    new_board(tmp_path, state())
    result = liza(tmp_path, "rules", "explain", "retry_cluster")
    assert (result.code, result.out.splitlines()[-1]) == (0, "○ nothing counts for it")


def test_a_rule_of_a_file_is_explained_with_the_facts_of_the_blackboard(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    (tmp_path / "mine.yaml").write_text(rule("count(type=retry_loop) >= 3"))
    result = liza(tmp_path, "rules", "explain", "own", "--rules", "mine.yaml", *NOW)
    assert result.code == 0
    assert "● 5 of 3  all records  matches" in result.out


def test_a_rule_that_is_not_in_force_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    new_board(tmp_path)
    own_rules(tmp_path, "rules:\n- {name: spec_gap_cluster, enabled: false}\n")
    result = liza(tmp_path, "rules", "explain", "retry_clustr")
    assert (result.code, result.hint()) == (1, "did you mean retry_cluster?")
    result = liza(tmp_path, "rules", "explain", "nothing_like_it")
    assert (result.code, result.hint()) == (1, "see which there are with: liza rules list")
    result = liza(tmp_path, "rules", "explain", "spec_gap_cluster")
    assert (result.code, "is disabled" in result.err) == (1, True)
    answer = liza(tmp_path, "rules", "explain", "retry_clustr", "--json")
    assert [each["hint"] for each in envelope(answer, "rules explain", "refused")["problems"]] == [
        "did you mean retry_cluster?"
    ]


@pytest.mark.parametrize("words", [("--now", "never"), ("--compare", "one"), ("--nothing",), ()], ids=str)
def test_what_has_no_meaning_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "explain", *(("retry_cluster", *words) if words else ()))
    assert result.code == 2
    assert result.hint()


def test_a_blackboard_that_cannot_be_judged_is_not_explained(tmp_path: Path) -> None:
    file = new_board(tmp_path, "version: 1\nanomalies: some\n")
    result = liza(tmp_path, "rules", "explain", "retry_cluster")
    assert (result.code, "state.yaml:2:1: anomalies is not a list" in result.err) == (4, True)
    file.write_text("anomalies: [\n")
    result = liza(tmp_path, "rules", "explain", "retry_cluster", "--json")
    assert result.code == 4
    assert envelope(result, "rules explain", "degraded")["problems"]


def test_a_record_that_cannot_be_used_is_told_in_both_forms(tmp_path: Path) -> None:
    new_board(tmp_path, state(anomaly("{a: 1}")))
    assert "error_pattern is a mapping" in liza(tmp_path, "rules", "explain", "retry_cluster").out
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", "--json")
    assert "error_pattern is a mapping" in answer.out


# --- explain: two texts -----------------------------------------------------------------------------------------------


def compared(folder: Path, rule_name: str, one: str, other: str, *more: str) -> dict[str, Any]:
    result = liza(folder, "rules", "explain", rule_name, "--compare", one, other, "--json", *more)
    assert result.code == 0, result.err
    found = envelope(result, "rules explain", "ok")["comparison"]
    assert isinstance(found, dict)
    return found


def test_two_texts_are_compared_as_the_rule_does_it(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "explain", "retry_cluster", "--compare", *GATEWAY)
    assert result.code == 0
    first, second, third = result.out.splitlines()
    assert (first.split(None, 1), second.strip()) == (["0.94", GATEWAY[0]], GATEWAY[1])
    assert third.strip().startswith("apart: ")
    found = compared(tmp_path, "retry_cluster", "timeout after 30 s", "timeout after 5 s")
    assert (found["together"], found["similarity"]) == (True, 1)


def test_for_a_rule_with_same_two_texts_must_be_the_same(tmp_path: Path) -> None:
    new_board(tmp_path)
    assert compared(tmp_path, "assumption_cascade", "one customer", " One  CUSTOMER.")["together"]
    assert not compared(tmp_path, "assumption_cascade", "timeout after 30 s", "timeout after 5 s")["together"]


def test_where_texts_must_be_equal_nothing_else_is_together(tmp_path: Path) -> None:
    new_board(tmp_path)
    pair = ("timeout after 30 s", "timeout after 5 s")
    assert not compared(tmp_path, "retry_cluster", *pair, "--exact")["together"]
    assert compared(tmp_path, "retry_cluster", pair[0], pair[0], "--exact")["together"]
    own_rules(tmp_path, "matching: exact\n")
    assert not compared(tmp_path, "retry_cluster", *pair)["together"]


def test_two_texts_that_are_together_on_the_blackboard_are_not_said_to_be_apart(tmp_path: Path) -> None:
    texts = [f"disk {word} went away" for word in ("alpha", "beta", "gamma", "delta", "omega")]
    new_board(tmp_path, state(*map(anomaly, texts)))
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json
    assert [each["count"] for each in answer["groups"]] == [5]
    assert compared(tmp_path, "retry_cluster", texts[0], texts[1], *NOW)["together"]


def test_a_rule_that_compares_no_texts_says_so(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "explain", "debt_accumulation", "--compare", "a", "b")
    assert (result.code, "compares no texts" in result.err) == (1, True)
    assert result.hint()


@pytest.mark.parametrize("similarity", ["0.5", "0.8", "0.85", "1"])
def test_two_texts_are_compared_at_any_similarity(tmp_path: Path, similarity: str) -> None:
    (tmp_path / "mine.yaml").write_text(rule(f'"count(type=retry_loop, similar(error_pattern, {similarity})) >= 3"'))
    pair = ("the link drops on boot", "the link dropped on boot")
    found = compared(tmp_path, "own", *pair, "--rules", "mine.yaml")
    assert found["together"] is (float(similarity) <= 0.8)


NASTY_PAIRS = [(NASTY, f"{NASTY} x"), (b"\xff\xfe a b", b"\xff a b"), ("x" * 100_000, "y z " * 25_000), ("", " ")]


@pytest.mark.parametrize("pair", NASTY_PAIRS, ids=["for terminals", "not UTF-8", "long", "blank"])
def test_two_texts_come_back_harmless_and_short(tmp_path: Path, pair: tuple[str | bytes, str | bytes]) -> None:
    new_board(tmp_path)
    result = on_a_terminal(tmp_path, "rules", "explain", "retry_cluster", "--compare", *pair)
    assert result.code == 0
    assert harmless(result.out), ascii(result.out)
    assert len(result.out) < 1_000
    assert len(result.out.splitlines()) == 3


# --- explain: odd blackboards -----------------------------------------------------------------------------------------

ODD_VALUES = {
    "a huge number": HUGE,
    "a long text": FLOOD,
    "many words": f'"{"y " * (1 << 16)}"',
    "for terminals": QUOTED,
    "a list": "[a, [b, {c: d}], null]",
    "a list of huge numbers": f"[{HUGE}, {HUGE}]",
    "a mapping": "{a: b}",
    "null": "null",
    "no number": ".nan",
}
OWN = """\
rules:
- {name: by_task, condition: "count(type=retry_loop, per(task)) >= 2", severity: SPEC_FLAW}
- {name: tasks, condition: "count(type=retry_loop, distinct(task) >= 2) >= 2", severity: SPEC_FLAW}
- {name: number, condition: "count(type=retry_loop, task=5) >= 2", severity: SPEC_FLAW}
- {name: exactly, condition: "count(type=retry_loop, same(error_pattern)) >= 2", severity: SPEC_FLAW}
"""


@pytest.mark.parametrize("field", ["task", "error_pattern"])
@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES.keys())
def test_no_record_is_too_odd_to_be_explained(tmp_path: Path, field: str, value: str) -> None:
    records = [anomaly(value if field == "error_pattern" else "x y z", task=value if field == "task" else "t")] * 2
    new_board(tmp_path, state(*records))
    own_rules(tmp_path, OWN)
    for name in ("retry_cluster", "by_task", "tasks", "number", "exactly"):
        result = on_a_terminal(tmp_path, "rules", "explain", name, "--missed", *NOW)
        assert result.code == 0, result.out[:1000]
        assert harmless(result.out), ascii(result.out)[:1000]
        assert len(result.out) < 5_000
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", "--json", *NOW)
    assert (answer.code, answer.out.isascii()) == (0, True)
    assert envelope(answer, "rules explain", "ok")


def test_of_many_groups_and_records_only_some_are_shown_unless_one_asks(tmp_path: Path) -> None:
    words = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]
    apart = [anomaly(f"{word} {word}x {word}y {word}z") for word in words]
    new_board(tmp_path, state(*[anomaly("timeout")] * 30, *apart))
    result = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW)
    assert "    … and 18 more\n" in result.out
    assert "… and 41 " in result.out
    assert sum(line.startswith(("●", "◐")) for line in result.out.splitlines()) == 20
    everything = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", *NOW)
    assert sum(line.startswith(("●", "◐")) for line in everything.out.splitlines()) == 61
    assert len(liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json["groups"]) == 61


def test_colour_is_for_terminals(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    for words in (("explain", "retry_cluster", "--missed", *NOW), ("list",), ("check",)):
        assert "\x1b" not in liza(tmp_path, "rules", *words).out
        assert "\x1b" not in on_a_terminal(tmp_path, "rules", *words, NO_COLOR="1").out
    assert "\x1b[33m" in on_a_terminal(tmp_path, "rules", "explain", "retry_cluster", *NOW).out
