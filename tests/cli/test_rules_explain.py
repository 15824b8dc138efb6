"""`liza rules explain`: why a rule matched or not."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import liza, new_board, on_a_terminal
from tests.cli.test_rules import FLOOD, GATEWAY, HUGE, NOW, QUOTED, anomaly, custom_rules, envelope, rule, state
from tests.cli.test_untrusted_text import NASTY, harmless

# --- explain ----------------------------------------------------------------------------------------------------------

SEEN = (
    anomaly("timeout after 32 s", "08:00", "task-6"),
    anomaly("timeout after 30 s", "14:00", "task-1"),
    anomaly("timeout after 31 s", "14:10", "task-2"),
    anomaly(GATEWAY[0], "14:20", "task-3"),
    anomaly(GATEWAY[1], "14:30", "task-4"),
    anomaly("null", "14:40", "task-5"),
    anomaly("timeout", "14:50", "task-7", kind="workaround"),
)


def test_explain_orders_groups_and_shows_what_is_missing(tmp_path: Path) -> None:
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
    assert "    anomalies[2]  task-2  2025-01-18T14:10:00Z  timeout after 31 s" in rest
    assert "not counted: 3" in rest
    assert "nearly" not in result.out
    assert file.read_text() == state(*SEEN)


def test_missed_shows_uncounted_records_and_near_misses(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    out = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", *NOW).out
    assert "  anomalies[5]  task-5: no field error_pattern\n" in out
    assert "  anomalies[0]  task-6: before the window\n" in out
    nearly = out.partition("nearly together:\n")[2].splitlines()
    assert nearly[0].split(None, 1) == ["0.94", GATEWAY[0]]
    assert nearly[1].strip() == GATEWAY[1]
    assert nearly[2].strip().startswith("apart: ")
    assert "502 / 503" in nearly[2]


def test_json_of_explain(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    answer = envelope(liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW), "rules explain", "ok")
    groups = [(each["key"], each["count"], each["threshold"], each["matches"]) for each in answer["groups"]]
    assert groups == [("timeout after 30 s", 2, 3, False), (GATEWAY[0], 1, 3, False), (GATEWAY[1], 1, 3, False)]
    assert [each["key"] for each in answer["groups"][0]["evidence"]] == [1, 2]
    assert answer["groups"][0]["texts"] == [
        {"text": "timeout after 30 s", "count": 1},
        {"text": "timeout after 31 s", "count": 1},
    ]
    assert (answer["window"], answer["since"]) == ("current_sprint", "2025-01-18T09:00:00Z")
    assert answer["not_counted"] == {"no field error_pattern": 1, "before the window": 1, "type is 'workaround'": 1}
    assert (answer["missed"], answer["near"]) == (None, None)
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", "--missed", *NOW).json
    assert {each["key"] for each in answer["missed"]} == {0, 5, 6}
    (near,) = answer["near"]
    assert ({near["one"], near["other"]}, near["together"]) == (set(GATEWAY), False)
    assert near["similarity"] == pytest.approx(0.94, abs=0.01)


def test_explain_shows_match_where_analyze_would_trip(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN, anomaly("timeout after 9 s", "15:00", "task-9")))
    out = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW).out
    assert "● 3 of 3  timeout after 30 s  matches\n" in out
    assert liza(tmp_path, "analyze", "--dry-run", *NOW).code == 3


SILENCE = (
    "silences:\n- {id: silence-1, rule: retry_cluster, match: {error_pattern: timeout after 1 s}, reason: known, by: a,"
    " created: 2025-01-18T17:00:00Z, until: 2025-01-18T19:00:00Z}\n"
)


def test_explain_shows_silences(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN, anomaly("timeout after 9 s", "15:00", "task-9"), more=SILENCE))
    result = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW)
    assert "● 3 of 3  timeout after 30 s  silenced\n" in result.out
    assert "by a: known [silence-1]" in result.out
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json
    assert [each["silence"]["id"] for each in answer["silenced"]] == ["silence-1"]


def test_exact_groups_only_equal_texts(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--exact", "--missed", "--json", *NOW).json
    assert ([each["count"] for each in answer["groups"]], answer["near"]) == ([1, 1, 1, 1], [])


def test_condition_without_counted_records(tmp_path: Path) -> None:
    new_board(tmp_path, state())
    result = liza(tmp_path, "rules", "explain", "retry_cluster")
    assert (result.code, result.out.splitlines()[-1]) == (0, "○ no record counts for this rule")


def test_rule_from_file_is_explained_on_the_board(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    (tmp_path / "mine.yaml").write_text(rule("count(type=retry_loop) >= 3"))
    result = liza(tmp_path, "rules", "explain", "own", "--rules", "mine.yaml", *NOW)
    assert result.code == 0
    assert "● 5 (trips at 3)  all records  matches" in result.out


def test_inactive_rule_is_refused_with_suggestion(tmp_path: Path) -> None:
    new_board(tmp_path)
    custom_rules(tmp_path, "rules:\n- {name: spec_gap_cluster, enabled: false}\n")
    result = liza(tmp_path, "rules", "explain", "retry_clustr")
    assert (result.code, result.hint()) == (1, "did you mean retry_cluster?")
    result = liza(tmp_path, "rules", "explain", "nothing_like_it")
    assert (result.code, result.hint()) == (1, "list them with: liza rules list")
    result = liza(tmp_path, "rules", "explain", "spec_gap_cluster")
    assert (result.code, "is disabled" in result.err) == (1, True)
    answer = liza(tmp_path, "rules", "explain", "retry_clustr", "--json")
    assert [each["hint"] for each in envelope(answer, "rules explain", "refused")["problems"]] == [
        "did you mean retry_cluster?"
    ]


@pytest.mark.parametrize("words", [("--now", "never"), ("--compare", "one"), ("--nothing",), ()], ids=str)
def test_invalid_option_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "explain", *(("retry_cluster", *words) if words else ()))
    assert result.code == 2
    assert result.hint()


def test_anomalies_that_are_no_list_are_not_explained(tmp_path: Path) -> None:
    new_board(tmp_path, "version: 1\nanomalies: some\n")
    result = liza(tmp_path, "rules", "explain", "retry_cluster")
    assert (result.code, "state.yaml:2:1: anomalies is not a list" in result.err) == (4, True)


def test_unusable_record_is_shown_in_both_formats(tmp_path: Path) -> None:
    new_board(tmp_path, state(anomaly("{a: 1}")))
    assert "anomalies[0]: error_pattern" in liza(tmp_path, "rules", "explain", "retry_cluster").out
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", "--json")
    assert "anomalies[0]: error_pattern" in answer.out


# --- explain: two texts -----------------------------------------------------------------------------------------------


def compared(folder: Path, rule_name: str, one: str, other: str, *more: str) -> dict[str, Any]:
    result = liza(folder, "rules", "explain", rule_name, "--compare", one, other, "--json", *more)
    assert result.code == 0, result.err
    found = envelope(result, "rules explain", "ok")["comparison"]
    assert isinstance(found, dict)
    return found


def test_two_texts_are_compared_by_the_rule(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "explain", "retry_cluster", "--compare", *GATEWAY)
    assert result.code == 0
    first, second, third = result.out.splitlines()
    assert (first.split(None, 1), second.strip()) == (["0.94", GATEWAY[0]], GATEWAY[1])
    assert third.strip().startswith("apart: ")
    found = compared(tmp_path, "retry_cluster", "timeout after 30 s", "timeout after 5 s")
    assert (found["together"], found["similarity"]) == (True, 1)


def test_exact_requires_equal_texts(tmp_path: Path) -> None:
    new_board(tmp_path)
    pair = ("timeout after 30 s", "timeout after 5 s")
    assert not compared(tmp_path, "retry_cluster", *pair, "--exact")["together"]
    assert compared(tmp_path, "retry_cluster", pair[0], pair[0], "--exact")["together"]
    custom_rules(tmp_path, "matching: exact\n")
    assert not compared(tmp_path, "retry_cluster", *pair)["together"]


def test_compare_considers_other_texts_on_the_board(tmp_path: Path) -> None:
    texts = [f"disk {word} went away" for word in ("alpha", "beta", "gamma", "delta", "omega")]
    new_board(tmp_path, state(*map(anomaly, texts)))
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json
    assert [each["count"] for each in answer["groups"]] == [5]
    assert compared(tmp_path, "retry_cluster", texts[0], texts[1], *NOW)["together"]


def test_rule_without_text_grouping_cannot_compare(tmp_path: Path) -> None:
    new_board(tmp_path)
    result = liza(tmp_path, "rules", "explain", "debt_accumulation", "--compare", "a", "b")
    assert (result.code, "compares no texts" in result.err) == (1, True)
    assert result.hint()


NASTY_PAIRS = [(NASTY, f"{NASTY} x"), (b"\xff\xfe a b", b"\xff a b"), ("x" * 100_000, "y z " * 25_000), ("", " ")]


@pytest.mark.parametrize("pair", NASTY_PAIRS, ids=["for terminals", "not UTF-8", "long", "blank"])
def test_compared_texts_are_escaped_and_shortened(tmp_path: Path, pair: tuple[str | bytes, str | bytes]) -> None:
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
def test_any_odd_record_is_explained(tmp_path: Path, field: str, value: str) -> None:
    records = [anomaly(value if field == "error_pattern" else "x y z", task=value if field == "task" else "t")] * 2
    new_board(tmp_path, state(*records))
    custom_rules(tmp_path, OWN)
    for name in ("retry_cluster", "by_task", "tasks", "number", "exactly"):
        result = on_a_terminal(tmp_path, "rules", "explain", name, "--missed", *NOW)
        assert result.code == 0, result.out[:1000]
        assert harmless(result.out), ascii(result.out)[:1000]
        assert len(result.out) < 5_000
    answer = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", "--json", *NOW)
    assert (answer.code, answer.out.isascii()) == (0, True)
    assert envelope(answer, "rules explain", "ok")


def test_long_lists_are_shortened_unless_missed(tmp_path: Path) -> None:
    words = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]
    apart = [anomaly(f"{word} {word}x {word}y {word}z") for word in words]
    new_board(tmp_path, state(*[anomaly("timeout")] * 30, *apart))
    result = liza(tmp_path, "rules", "explain", "retry_cluster", *NOW)
    assert "    … and 18 more (--all shows all)\n" in result.out
    assert "… and 41 " in result.out
    assert sum(line.startswith(("●", "◐")) for line in result.out.splitlines()) == 20
    everything = liza(tmp_path, "rules", "explain", "retry_cluster", "--missed", *NOW)
    assert sum(line.startswith(("●", "◐")) for line in everything.out.splitlines()) == 61
    assert len(liza(tmp_path, "rules", "explain", "retry_cluster", "--json", *NOW).json["groups"]) == 61


def test_colour_is_only_for_terminals(tmp_path: Path) -> None:
    new_board(tmp_path, state(*SEEN))
    for words in (("explain", "retry_cluster", "--missed", *NOW), ("list",), ("check",)):
        assert "\x1b" not in liza(tmp_path, "rules", *words).out
        assert "\x1b" not in on_a_terminal(tmp_path, "rules", *words, NO_COLOR="1").out
    assert "\x1b[33m" in on_a_terminal(tmp_path, "rules", "explain", "retry_cluster", *NOW).out
