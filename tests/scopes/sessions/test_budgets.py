"""Budgets: of each measure, for a session, the sprint and a day; warned at 80 %, stopped at 100 %."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from liza.clients.usage import Usage
from liza.scopes.sessions.spending import Terms, day_of
from liza.store.session_halt import read_session_halt
from liza.store.steps import append_lines
from tests.cli.run import Result, installed, liza
from tests.scopes.sessions.team import Seen, Team, moment

BUDGETS = {"cost": 5.0, "tokens": 1000.0, "steps": 10.0, "hours": 2.0}  # in tenths below
NOTHING = Seen(set(), set(), None, set())


def work(team: Team, measure: str, tenths: range, session: str = "a") -> datetime:
    """Use so many tenths of the budget, twelve minutes apart; returns when."""
    at = moment()
    for number in tenths:
        at = moment(minutes=12 * number)
        if measure == "cost":
            team.use(session, at, Usage(1, 0, cost=0.5))
        elif measure == "tokens":
            team.use(session, at, Usage(90, 10, model="of-the-house"))
        else:
            team.step(session, at, number)
    return at


@pytest.mark.parametrize("measure", BUDGETS)
@pytest.mark.parametrize("span", ["session", "sprint", "day"])
def test_warned_once_at_80_percent_and_stopped_at_100(tmp_path: Path, span: str, measure: str) -> None:
    team = Team(tmp_path / "p", f"budgets: {{{span}: {{{measure}: {BUDGETS[measure]:g}}}}}\n")
    first = 0 if measure == "hours" else 1  # hours are between two calls
    assert team.look(work(team, measure, range(first, 8))) == NOTHING
    assert team.look(work(team, measure, range(8, 9))) == NOTHING._replace(warned={"a"})
    (team.folder / ".liza" / "stopped" / "a").unlink()  # as the hook does once it was shown
    assert team.look(work(team, measure, range(9, 10))) == NOTHING
    found = team.look(work(team, measure, range(10, 11)))
    expected = (
        NOTHING._replace(stopped={"a"}) if span == "session" else NOTHING._replace(pattern=f"budget_{span}_{measure}")
    )
    assert found == expected


def test_nothing_is_a_budget_until_a_number_is_set(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "budgets: {session: {}, sprint: {tokens: null}}\n")
    assert team.look(work(team, "cost", range(1, 200))) == NOTHING
    listed = liza(team.folder, "rules", "list", "--json").json
    assert not [each["name"] for each in listed["rules"] if each["name"].startswith("budget_")]
    assert listed["changes"] == []


def test_budget_of_half_a_dollar_stops_before_sixty_cents(tmp_path: Path) -> None:
    """A model of known price: each call costs three cents, and liza looks after each."""
    team = Team(tmp_path / "p", "budgets: {session: {cost: 0.5}}\n")
    spent, seen = 0.0, NOTHING
    for number in range(100):
        team.step("a", moment(minutes=number), number)
        team.use("a", moment(minutes=number), Usage(5000, 600, model="claude-sonnet-4-5-20250929"))
        spent += (5000 * 3 + 600 * 15) / 1e6
        seen = team.look(moment(minutes=number))
        if seen.stopped:
            break
    assert seen == NOTHING._replace(stopped={"a"})
    assert 0.5 <= spent < 0.6
    halt = read_session_halt(team.paths.stopped, "a")
    assert halt is not None
    assert (halt.pattern, "budgets.session.cost" in halt.reason) == ("budget_session_cost", True)


def test_subagents_count_for_the_session_that_started_them(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "budgets: {session: {tokens: 1000, steps: 5}}\n")
    team.use("a", moment(), Usage(500, 0))
    team.use("child", moment(), Usage(200, 0), parent="a")
    team.use("other", moment(), Usage(900, 0))
    assert team.look(moment()).stopped == set()
    team.use("grandchild", moment(), Usage(300, 0), parent="child")
    found = team.look(moment())
    assert (found.stopped, found.warned) == ({"a"}, {"other"})
    for number in range(3):
        team.step("b", moment(minutes=number), number)
        team.step("of-b", moment(minutes=number), number, parent="b")
    assert team.look(moment(minutes=3)).stopped == {"a", "b"}


def test_resumed_session_may_use_the_same_again(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "budgets: {session: {tokens: 1000}}\n")
    team.use("a", moment("2026-03-10T12:00:00Z"), Usage(1000, 0))
    team.use("child", moment("2026-03-10T12:00:00Z"), Usage(100, 0), parent="a")
    assert team.look(moment()).stopped == {"a"}
    at = moment(minutes=10).isoformat()
    assert liza(team.folder, "session", "resume", "a", "-m", "go on", "--by", "ann", "--now", at).code == 0
    team.use("a", moment(minutes=20), Usage(999, 0))
    assert team.look(moment(minutes=20)).stopped == set()
    team.use("child", moment(minutes=30), Usage(1, 0), parent="a")
    assert team.look(moment(minutes=30)).stopped == {"a"}


def resolve(team: Team, at: datetime) -> None:
    done = liza(team.folder, "resolve", "-m", "worth it", "--by", "ann", "--now", at.isoformat())
    assert done.code == 0, done.err


@pytest.mark.parametrize("span", ["sprint", "day"])
def test_resolved_budget_trips_again_after_as_much_again(tmp_path: Path, span: str) -> None:
    team = Team(tmp_path / "p", f"budgets: {{{span}: {{tokens: 1000}}}}\n")
    team.use("a", moment(), Usage(1100, 0))
    assert team.look(moment()).pattern == f"budget_{span}_tokens"
    resolve(team, moment(minutes=1))
    team.use("a", moment(minutes=2), Usage(999, 0))
    assert team.look(moment(minutes=2)).pattern is None
    team.use("a", moment(minutes=3), Usage(1, 0))
    assert team.look(moment(minutes=3)).pattern == f"budget_{span}_tokens"


def test_raised_budget_counts_from_the_start(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "budgets: {sprint: {tokens: 1000}}\n")
    team.use("a", moment(), Usage(1100, 0))
    assert team.look(moment()).pattern == "budget_sprint_tokens"
    report = (team.folder / ".liza" / "circuit_breaker_report.md").read_text()
    assert "budgets.sprint.tokens in .liza/rules.yaml" in report
    resolve(team, moment(minutes=1))
    team.set_rules("budgets: {sprint: {tokens: 2000}}\n")
    team.use("a", moment(minutes=2), Usage(800, 0))
    assert team.look(moment(minutes=2)) == NOTHING._replace(warned={"a"})
    team.use("a", moment(minutes=3), Usage(100, 0))
    assert team.look(moment(minutes=3)).pattern == "budget_sprint_tokens"


def test_unknown_model_is_counted_in_tokens_and_reported(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "budgets: {session: {cost: 1, tokens: 1000}}\n")
    team.use("a", moment(), Usage(700, 0, model="of-the-house"))
    assert team.look(moment()) == NOTHING._replace(alarms={"unpriced_usage"})
    team.use("a", moment(), Usage(300, 0, model="of-the-house"))
    assert team.look(moment()).stopped == {"a"}
    (row,) = liza(team.folder, "sessions", "--json").json["sessions"]
    assert (row["tokens"], row["cost"], row["unpriced"]) == (1000, None, {"of-the-house": 1000})
    shown = liza(team.folder, "sessions", "--all").out
    assert ("1k tokens" in shown, "of-the-house" in shown, "$" in shown) == (True, True, False)


def test_own_prices_beat_the_shipped_table(tmp_path: Path) -> None:
    own = "of-the-house: {input: 10, output: 20, cache_read: 1, cache_write: 15}, gpt-5: {input: 0, output: 0}"
    team = Team(tmp_path / "p", f"budgets: {{sprint: {{cost: 100}}}}\nprices: {{{own}}}\n")
    used = Usage(1_000_000, 100_000, 500_000, "of-the-house", None, 200_000)
    team.use("a", moment(), used)  # 300,000 read plainly: 3 + 0.5 + 3 + 2
    team.use("a", moment(), used._replace(model="gpt-5"))
    team.use("a", moment(), Usage(1_000_000, 0, model="claude-opus-4-8[1m]"))
    assert team.look(moment()) == NOTHING
    (row,) = liza(team.folder, "sessions", "--json").json["sessions"]
    assert (row["cost"], row["unpriced"]) == (pytest.approx(8.5 + 5), {})
    assert "$13.50" in liza(team.folder, "sessions", "--all").out


@pytest.mark.parametrize(
    ("text", "line", "column", "hint"),
    [
        ("budgets:\n  sesion: {cost: 5}\n", 2, 3, "session"),
        ("budgets:\n  session:\n    cost: 5\n    token: 5\n", 4, 5, "tokens"),
        ("budgets:\n  day:\n    tokens: two million\n", 3, 5, None),
        ("budgets:\n  sprint: {hours: 0}\n", 2, 3, None),
        ("budgets: [5]\n", 1, 1, None),
        ("budgets:\n  session: 5\n", 2, 3, None),
        ("budgets:\n  zone: Europe/Berlim\n", 2, 3, None),
        ("prices:\n  opus: {input: 5}\n", 2, 3, None),
        ("prices:\n  opus: {input: 5, outputs: 25, output: 25}\n", 2, 3, "output"),
        ("prices:\n  opus: {input: -1, output: 25}\n", 2, 3, None),
        ("optional: true\n", 1, 1, None),
    ],
)
def test_broken_section_is_located(tmp_path: Path, text: str, line: int, column: int, hint: str | None) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    found = liza(tmp_path, "rules", "check", str(file), "--json")
    assert found.code == 1
    (problem,) = found.json["problems"]
    assert (problem["line"], problem["column"]) == (line, column)
    assert hint is None or hint in problem["hint"]


def test_stats_show_what_was_used_and_of_which_budget(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "budgets: {day: {cost: 50}, zone: UTC}\n")
    team.use("a", moment("2026-03-08T12:00:00Z"), Usage(1_000_000, 0, model="gpt-5"))  # before the sprint
    team.use("a", moment("2026-03-09T12:00:00Z"), Usage(100, 0, model="of-the-house"))
    team.use("a", moment(), Usage(2_000_000, 0, model="gpt-5"))
    team.step("a", moment(), 1)
    now = moment().isoformat()
    found = liza(team.folder, "stats", "--json", "--now", now).json
    spans = {each["span"]: (each["tokens"], each["cost"], each["calls"], each["unpriced"]) for each in found["used"]}
    assert spans == {
        "day": (2_000_000, 2.5, 1, {}),
        "sprint": (2_000_100, 2.5, 1, {"of-the-house": 100}),
        "kept": (3_000_100, 3.75, 1, {"of-the-house": 100}),
    }
    assert {each["model"]: each["cost"] for each in found["models"]} == {"gpt-5": 3.75, "of-the-house": None}
    assert found["today"] == "2026-03-10 UTC"
    out = liza(team.folder, "stats", "--now", now).out
    assert ("$2.50 of $50.00" in out, "$2.50+" in out, "no price" in out) == (True, True, True)


def test_entries_of_a_quarter_of_an_hour_are_one_record(tmp_path: Path) -> None:
    """A team has hundreds of thousands; the day and the sprint begin within a quarter, too."""
    team = Team(tmp_path / "p", "")
    lines: list[Any] = [{"tokens": 100, "cost": 0.5}, {"tokens": 9, "model": "b"}, {"tokens": 7}, {"tokens": "9"}]
    for minute in (1, 14, 15, 31, 33):
        time = f"2026-03-10T12:{minute}:00Z" if minute > 9 else f"2026-03-10T12:0{minute}:00Z"
        append_lines(team.paths, "a", [{"session": "a", "note": "usage", "time": time, **line} for line in lines])
    append_lines(team.paths, "a", [{"session": "a", "note": "usage", "model": [3], "time": 3, "tokens": 1}])
    terms = Terms(midnight="2026-03-10T12:32:00Z", sprint="2026-03-10T12:10:00Z")
    found = [(each.time[14:16], each.fields["tokens"]) for each in team.monitor.usage(terms)]
    apart = [(minute, tokens) for minute in ("01", "14", "15", "31", "33") for tokens in (100, 9, 7, "9")]
    assert sorted(found, key=str) == sorted([*apart, ("", 1)], key=str)
    whole = [(each.fields["tokens"], each.fields.get("cost")) for each in team.monitor.usage(Terms(sprint="2026"))]
    assert sorted(whole, key=str) == sorted(
        [(n * tokens, cost and n * cost) for tokens, cost in ((100, 0.5), (9, None), (7, None)) for n in (2, 1, 2)]
        + [("9", None)] * 5 + [(1, None)], key=str,
    )  # fmt: skip
    team.use("a", moment("2026-03-10T12:14:30Z"), Usage(1000, 0))
    assert sum(each.fields["tokens"] == 1014 for each in team.monitor.usage(Terms(sprint="2026"))) == 1


# --- the day ----------------------------------------------------------------------------------------------------------

ZONES = {
    "Asia/Kolkata": ("2026-03-09T18:30:00Z", "2026-03-10 IST"),
    "America/New_York": ("2026-03-10T04:00:00Z", "2026-03-10 EDT"),
    "Europe/Berlin": ("2026-03-09T23:00:00Z", "2026-03-10 CET"),
}


def analyzed(team: Team, at: datetime, **env: str) -> Result:
    return installed(team.folder, "analyze", "--json", "--now", at.isoformat(), **env)


@pytest.mark.parametrize("zone", ZONES)
def test_day_changes_at_midnight_of_the_zone_of_this_machine(tmp_path: Path, zone: str) -> None:
    midnight, name = ZONES[zone]
    team = Team(tmp_path / "p", "budgets: {day: {tokens: 1000}}\n")
    team.use("a", moment(midnight, -1), Usage(900, 0))
    team.use("a", moment(midnight), Usage(600, 0))
    assert analyzed(team, moment(midnight, 5), TZ=zone).code == 0
    team.use("a", moment(midnight, 6), Usage(400, 0))
    found = analyzed(team, moment(midnight, 7), TZ=zone)
    assert found.code == 3
    assert name in json.dumps(found.json, ensure_ascii=False)
    assert name in (team.folder / ".liza" / "circuit_breaker_report.md").read_text()


def test_zone_can_be_set(tmp_path: Path) -> None:
    midnight = ZONES["Asia/Kolkata"][0]
    team = Team(tmp_path / "p", "budgets: {day: {tokens: 1000}, zone: Asia/Kolkata}\n")
    team.use("a", moment(midnight, -1), Usage(900, 0))
    team.use("a", moment(midnight), Usage(600, 0))
    assert analyzed(team, moment(midnight, 5), TZ="America/New_York").code == 0
    team.use("a", moment(midnight, 6), Usage(400, 0))
    found = analyzed(team, moment(midnight, 7), TZ="America/New_York")
    assert (found.code, "2026-03-10 Asia/Kolkata" in found.out) == (3, True)


def test_next_day_begins_with_its_whole_budget(tmp_path: Path) -> None:
    """Also where a person resolved the trip of the day before, and nothing was checked at midnight."""
    team = Team(tmp_path / "p", "budgets: {day: {tokens: 1000}, zone: UTC}\n")
    team.use("a", moment("2026-03-10T22:00:00Z"), Usage(1500, 0))
    assert team.look(moment("2026-03-10T22:00:00Z")).pattern == "budget_day_tokens"
    resolve(team, moment("2026-03-10T22:05:00Z"))
    team.use("a", moment("2026-03-11T00:00:00Z"), Usage(999, 0))
    team.use("a", moment("2026-03-11T01:00:00Z"), Usage(1, 0))
    assert team.look(moment("2026-03-11T01:00:00Z")).pattern == "budget_day_tokens"


@pytest.mark.parametrize("hours", range(-30, 31))
def test_day_has_no_gap_where_the_clock_is_changed(hours: int) -> None:
    from zoneinfo import ZoneInfo

    for changed in ("2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"):
        now = moment(changed) + timedelta(hours=hours)
        midnight, name = day_of(now, ZoneInfo("Europe/Berlin"), "Europe/Berlin")
        begun = now - moment(midnight)
        assert timedelta() <= begun < timedelta(hours=25)
        assert name == f"{now.astimezone(ZoneInfo('Europe/Berlin')):%Y-%m-%d} Europe/Berlin"


# --- hours and steps --------------------------------------------------------------------------------------------------


def test_hours_leave_out_what_waits_for_a_person(tmp_path: Path) -> None:
    team = Team(tmp_path / "p", "")

    def note(what: str, at: str) -> None:
        append_lines(team.paths, "a", [{"time": at, "session": "a", "note": what}])

    note("start", "2026-03-10T08:00:00Z")
    team.step("a", moment("2026-03-10T09:00:00Z"), 1)  # the prompt came an hour after the start
    team.step("a", moment("2026-03-10T09:10:00Z"), 2)  # 10 minutes
    team.step("a", moment("2026-03-10T15:10:00Z"), 3)  # was held: counts as 30
    team.step("a", moment("2026-03-10T17:10:00Z"), 4, seconds=7200)  # a long call: 120
    note("turn", "2026-03-10T17:15:00Z")  # 5
    team.step("a", moment("2026-03-10T18:00:00Z"), 5)  # the next prompt
    (row,) = liza(team.folder, "sessions", "--json").json["sessions"]
    assert row["hours"] == pytest.approx(165 / 60, abs=1e-3)


def test_steps_of_long_ago_count_after_a_restart(tmp_path: Path) -> None:
    """More than is read of a session's files when the daemon starts, and calls that two hooks reported once."""
    team = Team(tmp_path / "p", "budgets: {session: {steps: 400}}\n")
    for number in range(399):
        for _ in range(2):
            team.step("a", moment(minutes=number / 10), number, result="x" * 1000, parent="", cwd="/home/dev/\\shop")
    team.restart()
    team.step("a", moment(minutes=41), 400)
    assert team.look(moment(minutes=41)).stopped == {"a"}
