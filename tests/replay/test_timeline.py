"""The picture of a playback: where each part is drawn, whatever was played."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.replay.playback import RECORD, RESOLVE, Event, play
from liza.replay.timeline import RIGHT
from tests.replay.drawn import (
    NOON,
    SHIPPED,
    Drawn,
    assert_readable,
    at,
    counting,
    hover,
    minute,
    number,
    place,
    record,
    resolve,
    retry,
    tag,
    words,
)
from tests.rules.boards import rule, rules

NASTY = "</svg><script>alert(1)</script>&amp;\"'\x1b[31m\x00\u202e\u200f\ud800\uffff]]><!--"


# --- time -------------------------------------------------------------------------------------------------------------


def test_trip_is_drawn_at_its_share_of_the_time() -> None:
    picture = Drawn([retry(0), retry(10), retry(25), retry(100)])
    assert place(picture.one("trip")) == pytest.approx(at(0.25), abs=0.1)


def test_trip_bar_ends_at_its_resolution() -> None:
    bar = (picture := Drawn([retry(0), retry(10), retry(25), resolve(50), retry(100)])).one("open")
    assert number(bar, "x") == pytest.approx(at(0.25), abs=0.1)
    assert number(bar, "x") + number(bar, "width") == pytest.approx(at(0.5), abs=0.1)
    assert picture.all("unresolved") == []


def test_unresolved_trip_bar_extends_beyond_the_edge() -> None:
    bar = (picture := Drawn([retry(0), retry(10), retry(25), retry(100)])).one("open")
    assert number(bar, "x") + number(bar, "width") >= RIGHT
    assert picture.one("unresolved") is not None


def test_evidence_is_dotted_at_its_timestamp() -> None:
    picture = Drawn([retry(0), retry(50), retry(75), resolve(80), record(minute(100))])
    dots = [number(each, "cx") for each in picture.one("evidence")]
    assert dots == pytest.approx([at(0), at(0.5), at(0.75)], abs=1)


def test_record_without_a_time_is_dotted_at_its_arrival() -> None:
    timeless = Event(minute(50), RECORD, "anomalies", {"type": "a", "details": {"k": "x"}})
    picture = Drawn([record(minute(0), k="y"), timeless, record(minute(100), k="x")], rules(counting(2)))
    assert [number(each, "cx") for each in picture.one("evidence")] == pytest.approx([at(0.5), at(1)], abs=1)


def test_records_before_the_first_event_are_not_dotted() -> None:
    old = [{"timestamp": minute(-60 * 24 + i).isoformat(), "type": "a", "k": "x"} for i in range(2)]
    picture = Drawn([record(minute(0), k="x"), record(minute(10), k="y")], rules(counting(3)), board={"anomalies": old})
    assert [number(each, "cx") for each in picture.one("evidence")] == [pytest.approx(at(0), abs=1)]


def test_resolution_is_a_line_with_its_author() -> None:
    picture = Drawn([retry(0), retry(10), retry(25), resolve(50, by="ben"), retry(100)])
    line = picture.one("resolution")
    assert line.attrib["d"].startswith(f"M{at(0.5):.1f} ")
    assert hover(line) == "resolved\n2025-01-18 12:50:00 UTC\nby ben\nADR-3"
    assert words(picture.one("who")) == "ben"


def test_resolution_without_a_trip_is_drawn_differently() -> None:
    picture = Drawn([retry(0), resolve(50), retry(100)])
    assert hover(picture.one("resolution")).startswith("nothing open to resolve\n")
    assert "stroke-dasharray" in picture.one("resolution").attrib


def test_times_are_in_utc_to_the_microsecond() -> None:
    zone = timedelta(microseconds=7)
    events = [retry(0), retry(10), record(minute(20) + zone, "retry_loop", error_pattern="timeout after 30 s")]
    assert "2025-01-18 12:20:00.000007 UTC" in hover(Drawn(events).one("trip"))


@pytest.mark.parametrize(
    ("span", "ticks", "dates"),
    [
        (timedelta(microseconds=3), ["12:00:00.000000", "12:00:00.000001"], ["18 Jan 2025"]),
        (timedelta(milliseconds=500), ["12:00:00.0", "12:00:00.1"], ["18 Jan 2025"]),
        (timedelta(seconds=20), ["12:00:00", "12:00:05", "12:00:10"], ["18 Jan 2025"]),
        (timedelta(minutes=8), ["12:00", "12:01", "12:02"], ["18 Jan 2025"]),
        (timedelta(hours=9), ["12:00", "13:00", "14:00"], ["18 Jan 2025"]),
        (timedelta(hours=40), ["12:00", "18:00", "00:00"], ["18 Jan 2025", "19 Jan 2025", "20 Jan 2025"]),
        (timedelta(days=6), ["19 Jan", "20 Jan", "21 Jan"], ["2025"]),
        (timedelta(weeks=6), ["20 Jan", "27 Jan", "3 Feb"], ["2025"]),  # Mondays
        (timedelta(days=300), ["Feb", "Mar", "Apr"], ["2025"]),
        (timedelta(days=5 * 365), ["Jul", "Jan", "Jul"], ["2025", "2026", "2027", "2028", "2029", "2030"]),
        (timedelta(days=30 * 365), ["2030", "2035", "2040"], []),
    ],
)
def test_ticks_are_at_round_times(span: timedelta, ticks: list[str], dates: list[str]) -> None:
    picture = Drawn([record(NOON), record(NOON + span)])
    found = [words(each) for each in picture.texts("tick")]
    assert found[: len(ticks)] == ticks
    assert 3 <= len(found) <= 12
    assert [words(each) for each in picture.texts("date")][:6] == dates
    assert_readable(picture)


def test_tick_is_drawn_at_its_time() -> None:
    ticks = {words(each): number(each, "x") for each in Drawn([retry(0), retry(240)]).texts("tick")}
    assert ticks["13:00"] == pytest.approx(at(0.25), abs=0.1)


# --- lanes and panels -------------------------------------------------------------------------------------------------


def lanes(panel: Element, picture: Drawn) -> list[str]:
    return [words(each) for each in picture.all("lane", panel)]


def test_both_panels_have_the_same_lanes() -> None:
    events = [record(minute(i), kind, k="x") for i, kind in enumerate("abab")]
    first = rules(counting(2, "a"), counting(9, "c"), counting(2, "b"))
    second = rules(counting(2, "a"), counting(9, "c"), rule("count(type=never) >= 3", "b"))
    picture = Drawn(events, first, second)
    one, two = picture.all("panel")
    assert lanes(one, picture) == lanes(two, picture) == ["a", "b"]
    assert words(picture.one("unseen")) == "nothing seen: c"


def test_rule_below_its_threshold_has_a_lane_with_its_count() -> None:
    picture = Drawn([retry(0), retry(10)])
    assert lanes(picture.root, picture) == ["retry_cluster"]
    assert "2 of 3" in map(words, picture.texts())


def test_panel_heading_counts_the_trips() -> None:
    assert "no trip" in words(Drawn([retry(0)]).one("panel"))
    assert "1 trip, 0 resolved" in words(Drawn([retry(0), retry(1), retry(2)]).one("panel"))


def test_evidence_only_in_another_panel_is_hollow() -> None:
    picture = Drawn([retry(0), retry(10), retry(20)], SHIPPED, rules(counting(9, "retry_loop", name="retry_cluster")))
    one, two = picture.all("panel")
    assert len(picture.one("evidence", one)) == len(picture.one("elsewhere", two)) == 3
    assert picture.all("elsewhere", one) == picture.all("evidence", two) == []


def test_joined_rule_is_marked_differently_and_open_as_long() -> None:
    events = [record(minute(i), kind, k="x") for i, kind in ((0, "a"), (10, "a"), (20, "b"), (40, "b"))]
    picture = Drawn([*events, resolve(80), record(minute(100))], rules(counting(2, "a"), counting(2, "b")))
    assert place(picture.one("joined")) == pytest.approx(at(0.4), abs=0.1)
    assert [number(bar, "x") + number(bar, "width") for bar in picture.all("open")] == pytest.approx(
        [at(0.8)] * 2, abs=0.1
    )


def test_observing_rule_is_marked_differently() -> None:
    events = [record(minute(i), k="x") for i in (0, 50, 100)]
    picture = Drawn(events, rules(counting(2, mode="observe")))
    assert place(picture.one("observed")) == pytest.approx(at(0.5), abs=0.1)
    assert picture.all("trip") == picture.all("open") == []


def test_silenced_match_is_marked_and_its_silence_drawn() -> None:
    silence = {"rule": "a", "match": {"k": "x"}, "reason": "known", "by": "ann"}
    silence |= {"created": minute(25).isoformat(), "until": minute(75).isoformat()}
    events = [*(record(minute(i), k="x") for i in (30, 50)), record(minute(0)), record(minute(74)), record(minute(100))]
    picture = Drawn(events, rules(counting(2)), board={"silences": [silence]})
    assert place(picture.one("silenced")) == pytest.approx(at(0.5), abs=0.1)
    assert picture.one("silence").attrib["d"].startswith(f"M{at(0.25):.1f} ")
    assert picture.one("silence").attrib["d"].endswith(f"H{at(0.75):.1f}")


def test_legend_lists_only_what_is_drawn() -> None:
    assert words(Drawn([retry(0)]).one("legend")) == ""
    legend = words(Drawn([retry(0), retry(1), retry(2), resolve(3)]).one("legend"))
    assert legend == "evidencetrip, and how long openresolution, by whom"


# --- labels -----------------------------------------------------------------------------------------------------------


def test_label_shows_the_count_and_the_key() -> None:
    assert words(Drawn([retry(0), retry(10), retry(25), retry(100)]).one("label")) == "3 of 3 · timeout after 30 s"


def test_label_is_cut_where_the_next_one_begins() -> None:
    events = [record(minute(i), k=f"{'long ' * 40}{i // 2}") for i in range(4)]
    events = [*events[:2], resolve(1.5), *events[2:], record(minute(6))]
    picture = Drawn(events, rules(counting(2)))
    first, second = map(words, picture.texts("label"))
    assert first.startswith("2 of 2 · long")
    assert first.endswith("…")
    assert second.endswith("…")
    assert_readable(picture)


def test_label_at_the_right_edge_ends_there() -> None:
    picture = Drawn(
        [record(minute(0)), record(minute(99), k="a key"), record(minute(100), k="a key")], rules(counting(2))
    )
    assert words(picture.one("label")) == "2 of 2 · a key"
    assert_readable(picture)


@pytest.mark.parametrize("count", [2, 30, 300])
def test_many_trips_get_as_many_labels_as_fit(count: int) -> None:
    (trip,) = play(rules(counting(2)), {}, [record(minute(i), k="x") for i in range(2)]).trips
    closing = [resolve(4 * i + 2, by=f"ann-{i}") for i in range(count)]
    trips = tuple(trip._replace(at=each.at - timedelta(minutes=2), resolution=each) for each in closing)
    picture = Drawn([record(minute(0)), *closing], trips=trips)
    assert len(picture.all("trip")) == len(picture.all("open")) == len(picture.all("resolution")) == count
    assert min(count, 10) <= len(picture.texts("label")) <= count
    assert_readable(picture)


def test_long_names_are_cut_and_shown_in_full_on_hover() -> None:
    name = "a_rule_" * 10
    picture = Drawn([record(minute(i), k="x") for i in range(3)], rules(counting(2, name=name)), heading="h" * 999)
    assert words(picture.one("lane")).endswith("…")
    assert hover(picture.one("lane")) == name
    assert_readable(picture)


# --- untrusted text ---------------------------------------------------------------------------------------------------


def test_hostile_text_is_escaped() -> None:
    events = [record(minute(i), k=NASTY, error_pattern=NASTY) for i in range(3)]
    picture = Drawn([*events, resolve(4, by=NASTY)], rules(counting(2)), title=NASTY, heading=NASTY)
    assert {tag(each) for each in picture.root.iter()} <= {
        "svg", "g", "rect", "path", "circle", "text", "tspan", "title"
    }  # fmt: skip
    assert all(char.isprintable() or char == "\n" for char in picture.text)
    assert "</svg><script>" in hover(picture.one("trip"))
    assert "\\x1b[31m" in hover(picture.one("trip"))
    assert_readable(picture)


def test_key_of_a_megabyte_is_cut() -> None:
    picture = Drawn([record(minute(i), k="x" * 1_000_000) for i in range(2)], rules(counting(2)), title="y" * 1_000_000)
    assert len(picture.text) < 10_000
    assert len(hover(picture.one("trip"))) < 300


def test_picture_has_no_external_references() -> None:
    text = Drawn([retry(i) for i in range(3)]).text
    assert re.findall(r"https?:[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|<style|<script| on\w+=", text)


# --- few, many, odd ---------------------------------------------------------------------------------------------------


def test_no_events_still_give_a_picture() -> None:
    picture = Drawn([])
    assert "no events" in words(picture.root)
    assert "no trip" in words(picture.one("panel"))


def test_single_event_is_drawn_in_the_middle() -> None:
    picture = Drawn([record(NOON, k="x")], rules(counting(1)))
    assert place(picture.one("trip")) == at(0.5)
    assert [words(each) for each in picture.texts("tick")] == ["12:00:00"]
    assert_readable(picture)


def test_simultaneous_events_share_one_column() -> None:
    picture = Drawn([retry(0) for _ in range(50)])
    assert len(picture.one("evidence")) == 1
    assert picture.one("records").attrib["d"].count("M") == 1
    assert_readable(picture)


def test_thirty_rules_give_thirty_lanes() -> None:
    many = rules(*(counting(2, f"kind{i}") for i in range(30)))
    picture = Drawn([record(minute(i), f"kind{i % 30}", k="x") for i in range(60)], many)
    assert len(picture.all("lane")) == 30
    assert_readable(picture)


def test_thirty_unseen_rules_share_one_line() -> None:
    picture = Drawn([record(NOON)], rules(*(counting(2, f"a_long_name_of_kind_{i}") for i in range(30))))
    assert words(picture.one("unseen")).endswith("…")
    assert picture.all("lane") == []
    assert_readable(picture)


def test_thousands_of_events_give_a_small_file() -> None:
    events = [record(minute(i / 7), "ab"[i % 2], k=f"key {i % 5} " + "z" * 300) for i in range(4_000)]
    events += [resolve(i * 7) for i in range(1, 200, 20)]
    picture = Drawn(events, rules(counting(100, "a"), counting(9, "b", mode="observe")), rules(counting(200, "a")))
    assert len(picture.text) < 200_000
    assert all(len(each) <= 400 for name in ("evidence", "elsewhere") for each in picture.all(name))


def test_drawing_does_not_depend_on_input_order() -> None:
    events = [*(retry(i, f"timeout of {i} s") for i in range(9)), resolve(20), resolve(30, by="ben")]
    assert Drawn(events, SHIPPED, SHIPPED).text == Drawn(events[::-1], SHIPPED, SHIPPED).text


anytime = st.datetimes(timezones=st.just(UTC))
nearby = st.integers(0, 10**10).map(lambda number: NOON + timedelta(microseconds=number))
kinds = st.sampled_from(["a", "b", "c", "resolve"])


@given(
    st.sampled_from([anytime, nearby]).flatmap(
        lambda moments: st.lists(st.tuples(moments, kinds, st.text(max_size=30)), min_size=1, max_size=25)
    ),
    st.text(max_size=40),
)
def test_any_events_are_drawn_as_readable_xml(given_events: list[tuple[datetime, str, str]], text: str) -> None:
    events = [
        Event(when, RESOLVE, text=key, by=key)
        if kind == "resolve"
        else record(when, kind, k=key if kind == "b" else "x")
        for when, kind, key in given_events
    ]
    ruleset = rules(counting(2, "a"), counting(1, "b"), counting(2, "c", mode="observe"))
    picture = Drawn(events, ruleset, rules(counting(3, "a")), title=text, heading=text)
    assert len(picture.all("panel")) == 2
    assert_readable(picture)
