"""Records waiting in the inbox: the answers of the commands, what is entered, and the effect of a bad file."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import liza
from liza.scopes.claims.objections import Objection
from liza.scopes.claims.states import Fields, Round
from liza.scopes.inbox import apply_waiting, read_waiting
from liza.scopes.loops.record import Iteration
from liza.store import inbox as files
from liza.store.board import Board
from liza.store.document import parse
from liza.store.paths import Paths
from liza.store.payload import Malformed, dump, load
from tests.faults import boards
from tests.faults.holders import held_by_flock
from tests.served import server

LIZA = os.path.join(os.path.dirname(sys.executable), "liza")
ANOMALY = ("log", "anomaly", "--type", "spec_gap", "--task", "t", "--reporter", "r", "spec_ref=x")
NAME = "20250118T150000.000000000Z-0123abc0"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return boards.make(tmp_path)


def run(paths: Paths, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LIZA_ROOT": paths.folder, "LIZA_LOCK_TIMEOUT": "0.1"}
    return subprocess.CompletedProcess(words, *server().run(words, Path(paths.folder), env))


def data(paths: Paths) -> dict[str, Any]:
    return dict(parse(Path(paths.state).read_bytes(), paths.state).data)


def tear(paths: Paths) -> None:
    Path(paths.state).write_text("anomalies: [\n")


def repair(paths: Paths) -> None:
    Path(paths.state).write_text(boards.STATE)
    os.utime(paths.state, (1e9, 1e9))


def write(paths: Paths, name: str = NAME, **changes: Any) -> Path:
    """A file in the inbox as an agent may put it there."""
    os.makedirs(paths.inbox, exist_ok=True)
    payload = {"schema": 1, "id": name, "kind": "anomaly", "time": "2025-01-18T15:00:00Z"}
    path = Path(paths.inbox, f"{name}.json")
    path.write_text(json.dumps({**payload, "fields": boards.anomaly("agent"), **changes}))
    return path


# --- answers of the commands ------------------------------------------------------------------------------------------

RECORDING = {
    "loop record": ("loop", "record", "coder-1", "--files-changed", "1"),
    "claim add": ("claim", "add", "C-1", "--text", "it rains"),
    "claim round": ("claim", "round", "C-1", "--objection", "a", "--response", "b"),
    "attempt start": ("attempt", "start", "--slice", "S", "--test", "t"),
    "attempt fail": ("attempt", "fail", "--slice", "S", "--test", "t", "--error", "boom"),
    "attempt pass": ("attempt", "pass", "--slice", "S", "--test", "t"),
    "attempt infra": ("attempt", "infra", "--slice", "S", "--test", "t", "--error", "boom"),
    "attempt justify": (
        *("attempt", "justify", "--slice", "S", "--file", "f", "--test", "t"),
        *("--reason", "r", "--relationship", "z"),
    ),
    "attempt arch-stop": ("attempt", "arch-stop", "--slice", "S", "-m", "another table"),
}


@pytest.mark.parametrize("why", ["torn", "missing", "locked"])
def test_every_record_waits_and_is_entered_in_order(paths: Paths, why: str) -> None:
    """The commands exit 4, recorded and not evaluated; `log anomaly` exits 0. One check enters all."""

    def all_wait() -> None:
        ran = run(paths, *ANOMALY, "--json")
        answer = json.loads(ran.stdout)
        assert (ran.returncode, answer["status"]) == (0, "waiting"), ran.stderr
        assert os.path.exists(os.path.join(paths.folder, answer["waiting"]["file"]))
        for name, words in RECORDING.items():
            ran = run(paths, *words, "--json")
            assert (ran.returncode, json.loads(ran.stdout)["status"]) == (4, "waiting"), (name, ran.stderr)
        assert read_waiting(Board(paths)).records == 1 + len(RECORDING)

    if why == "locked":
        with held_by_flock(paths):
            all_wait()
    else:
        tear(paths)
        if why == "missing":
            os.unlink(paths.state)
        all_wait()
        repair(paths)
    checked = run(paths, "analyze", "--json")
    assert checked.returncode == 0, checked.stderr
    assert os.listdir(paths.inbox) == []
    found = data(paths)
    assert [each["reporter"] for each in found["anomalies"]] == ["coder-0", "r"]
    assert found["loops"]["coder-1"]["loop_count"] == 1
    assert [each["objection"] for each in found["claims"]["C-1"]["rounds"]] == ["a"]
    slice_ = found["slices"]["S"]
    assert [each["result"] for each in slice_["attempts"]] == ["failed", "passed", "infra"]
    assert (slice_["status"], len(slice_["justifications"])) == ("ARCH_STOP", 1)


def test_next_command_enters_waiting_records_first(paths: Paths) -> None:
    tear(paths)
    assert run(paths, *ANOMALY).returncode == 0
    repair(paths)
    assert run(paths, *ANOMALY[:-2], "second", "spec_ref=x").returncode == 0
    assert [each["reporter"] for each in data(paths)["anomalies"]] == ["coder-0", "r", "second"]


def test_invalid_record_is_refused_and_does_not_wait(paths: Paths) -> None:
    tear(paths)
    assert run(paths, *ANOMALY[:-1]).returncode == 1
    assert run(paths, "loop", "record", "", "--files-changed", "1").returncode == 1
    assert not os.path.exists(paths.inbox)


def test_waiting_record_trips_when_entered(paths: Paths) -> None:
    """Two gaps in one spec halt everyone: one is on the board, the other waited. The same check halts."""
    tear(paths)
    assert run(paths, *ANOMALY[:-1], "spec_ref=docs/spec.md").returncode == 0
    repair(paths)
    assert run(paths, "analyze").returncode == 3
    assert os.path.exists(paths.checkpoint)


def test_halt_does_not_wait_for_the_inbox(paths: Paths) -> None:
    """A pattern is on the board and a record waits while another program holds the lock: CHECKPOINT is made."""
    Path(paths.state).write_text(boards.STATE + boards.STATE[boards.STATE.index("- timestamp") :])
    os.utime(paths.state, (1e9, 1e9))
    write(paths)
    with held_by_flock(paths):
        assert run(paths, "analyze").returncode == 3
        assert os.path.exists(paths.checkpoint)
    run(paths, "analyze")
    assert os.listdir(paths.inbox) == []


def test_watch_once_enters_and_evaluates_waiting_records(paths: Paths) -> None:
    tear(paths)
    assert run(paths, *ANOMALY[:-1], "spec_ref=docs/spec.md").returncode == 0
    repair(paths)
    assert run(paths, "watch", "--once").returncode == 3
    assert os.listdir(paths.inbox) == []


def test_status_validate_and_doctor_count_waiting_records(paths: Paths) -> None:
    write(paths)
    status = json.loads(run(paths, "status", "--json").stdout)
    assert status["inbox"] == {"waiting": 1, "broken": 0}
    checked = json.loads(run(paths, "validate", "--json").stdout)["checked"]
    assert checked["inbox"] == {"waiting": 1, "broken": 0}
    tear(paths)
    for command in ("status", "validate"):
        ran = run(paths, command, "--json")
        assert (ran.returncode, json.loads(ran.stdout)["inbox"]["waiting"]) == (4, 1)
    found = json.loads(run(paths, "doctor", "--json").stdout)["findings"]
    assert [each["level"] for each in found if each["about"] == "inbox"] == ["warning"]


def test_api_returns_where_a_record_waits(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIZA_LOCK_TIMEOUT", "0.05")
    with held_by_flock(paths):
        added = liza.record("spec_gap", task="t", reporter="r", details={"spec_ref": "x"}, root=paths.folder)
        with pytest.raises(files.NotEvaluated):
            liza.loop("coder-1", root=paths.folder).record(files_changed=1)
    assert added.waits is not None
    assert added.file == added.waits.waiting.file
    assert apply_waiting(Board(paths)).records == 2


def test_error_after_the_change_does_not_record_again(paths: Paths) -> None:
    """The log cannot be written: the slice is stopped on the blackboard, so nothing waits."""
    os.unlink(paths.log)
    os.mkdir(paths.log)
    assert run(paths, *RECORDING["attempt arch-stop"]).returncode != 0
    assert data(paths)["slices"]["S"]["status"] == "ARCH_STOP"
    assert not os.path.exists(paths.inbox)


def test_unwritable_inbox_is_reported(paths: Paths) -> None:
    tear(paths)
    Path(paths.inbox).write_text("in the way")
    ran = run(paths, *ANOMALY, "--json")
    assert ran.returncode == 4
    assert "waiting" not in json.loads(ran.stdout)


# --- files of agents --------------------------------------------------------------------------------------------------


def broken_files(paths: Paths) -> dict[str, Path]:
    elsewhere = Path(paths.folder, "elsewhere.json")
    elsewhere.write_text(write(paths).read_text())
    made = {
        "kind": write(paths, f"{NAME[:-1]}1", kind="drop everything"),
        "time": write(paths, f"{NAME[:-1]}2", time="soon"),
        "schema": write(paths, f"{NAME[:-1]}3", schema=99),
        "id": write(paths, f"{NAME[:-1]}4", id=NAME),
        "fields": write(paths, f"{NAME[:-1]}5", fields={"type": "spec_gap"}),
        "types": write(paths, f"{NAME[:-1]}6", kind="iteration", fields={"loop": 5, "iteration": {}}),
        "extra": write(paths, f"{NAME[:-1]}7", kind="round", fields={"claim": "C", "round": {"frozen": False}}),
        "unknown": write(paths, f"{NAME[:-1]}8", kind="round", fields={"claim": "C", "round": {"objections": []}}),
        "json": Path(paths.inbox, f"{NAME[:-1]}9.json"),
        "deep": Path(paths.inbox, f"{NAME[:-1]}a.json"),
        "large": Path(paths.inbox, f"{NAME[:-1]}b.json"),
        "link": Path(paths.inbox, f"{NAME[:-1]}c.json"),
        "fifo": Path(paths.inbox, f"{NAME[:-1]}d.json"),
        "folder": Path(paths.inbox, f"{NAME[:-1]}e.json"),
        "hard link": Path(paths.inbox, f"{NAME[:-1]}f.json"),
        "name": Path(paths.inbox, "notes.txt"),
    }
    made["json"].write_text("{")
    made["deep"].write_text("[" * 100_000)
    made["large"].write_bytes(b" " * (files.LARGEST + 1))
    made["link"].symlink_to(elsewhere)
    os.mkfifo(made["fifo"])
    made["folder"].mkdir()
    os.link(elsewhere, made["hard link"])
    made["name"].write_text("")
    return made


def test_broken_inbox_files_are_reported_kept_and_skipped(paths: Paths) -> None:
    made = broken_files(paths)
    last = write(paths, "20990118T150000.000000000Z-ffffffff")
    ran = run(paths, "analyze", "--json")
    assert ran.returncode == 3, ran.stderr  # three gaps in one spec
    assert [each["reporter"] for each in data(paths)["anomalies"]] == ["coder-0", "agent", "agent"]
    assert not last.exists()
    assert {path.name for path in made.values()} == set(os.listdir(paths.inbox))
    notes = json.loads(ran.stdout)["notes"]
    assert [name for name, path in made.items() if not any(path.name in note for note in notes)] == []
    found = json.loads(run(paths, "doctor", "--json").stdout)["findings"]
    assert any(each["about"] == "inbox" and each["level"] == "error" for each in found)


def test_inbox_that_is_a_link_is_left_alone(paths: Paths, tmp_path: Path) -> None:
    """Files are deleted in the inbox, so it must not lead elsewhere."""
    write(paths)
    os.rename(paths.inbox, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", paths.inbox)
    assert run(paths, "analyze").returncode == 0
    assert len(os.listdir(tmp_path / "elsewhere")) == 1
    assert len(data(paths)["anomalies"]) == 1


def test_round_for_a_frozen_claim_keeps_waiting(paths: Paths) -> None:
    """The claim is frozen only when the round is entered: the round is neither lost nor on the claim."""
    assert run(paths, "claim", "add", "C-1", "--text", "it rains").returncode == 0
    words = ("claim", "round", "C-1", "--objection", "run the harness", "--response", "there is no data")
    codes = [run(paths, *words).returncode for _ in range(2)]
    assert codes == [0, 0]
    with held_by_flock(paths):
        assert [run(paths, *words).returncode for _ in range(2)] == [4, 4]
    run(paths, "analyze")
    assert data(paths)["claims"]["C-1"]["status"] == "DISPUTED"
    assert len(data(paths)["claims"]["C-1"]["rounds"]) == 3
    assert read_waiting(Board(paths)).records == 1


def test_names_sort_by_arrival_with_clock_set_back(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time_ns
    first = files.add_record(paths, "anomaly", {}, "2025-01-18T15:00:00Z")
    monkeypatch.setattr(time, "time_ns", lambda: real() - 60 * 10**9)
    second = files.add_record(paths, "anomaly", {}, "2025-01-18T15:00:00Z")
    assert first.id < second.id


# --- the payload ------------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=20)
FACTS = st.one_of(
    st.builds(
        Iteration,
        task=st.none() | TEXT,
        progress=st.none() | st.floats(0, 100),
        evidence=st.dictionaries(TEXT, st.booleans()),
    ),
    st.builds(
        Round,
        st.lists(st.builds(Objection, TEXT, st.none() | TEXT), max_size=3).map(tuple),
        confidence=st.none() | st.floats(0, 1) | TEXT,
        cycle=st.none() | st.integers(),
    ),
    st.builds(
        Fields,
        TEXT,
        confidence=st.none() | st.integers() | TEXT,
        depends_on=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    ),
)


@given(FACTS)
def test_fact_survives_json(fact: Any) -> None:
    assert load(type(fact), json.loads(json.dumps(dump(fact))), "fact") == fact


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT, lambda each: st.lists(each) | st.dictionaries(TEXT, each)
    )
)
def test_any_other_value_is_malformed(value: Any) -> None:
    for kind in (Iteration, Round, Fields):
        with suppress(Malformed):
            assert isinstance(load(kind, value, "fact"), kind)
