"""Programs that write without the lock: no version of theirs is overwritten unseen."""

import os
from pathlib import Path

import pytest

from liza.errors import LizaError
from liza.store.board import Board
from liza.store.document import Document
from liza.store.edit import append_record
from tests.faults import boards, race
from tests.faults.boards import add
from tests.faults.children import Child, Signal

VERSIONS = 4_000


# --- as fast as it can ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_no_version_of_a_busy_writer_is_overwritten_unseen(tmp_path: Path, seed: int) -> None:
    outcome = race.run(boards.make(tmp_path), VERSIONS, seed, race.as_it_is)
    lost = [each for found in outcome.losses().values() for each in found]
    assert lost == []
    assert len(outcome.written) > 100, "liza hardly got to write, so this proves little"
    assert outcome.undone > 0, "the two never met, so this proves nothing"


def test_detectors_find_the_losses_of_check_then_rename(tmp_path: Path) -> None:
    """If this fails, the test above proves nothing. The losses depend on the machine: 16 to 50 of 4,000."""
    for seed in range(10):
        losses = race.run(boards.make(tmp_path / str(seed)), VERSIONS, seed, race.check_then_rename).losses()
        if losses["taken out by the rival"]:
            return
    pytest.fail(f"no version was lost in {10 * VERSIONS:,} saves")


def test_each_detector_finds_the_losses_of_an_uninspected_exchange(tmp_path: Path) -> None:
    losses = race.run(boards.make(tmp_path), 500, 1, race.exchange_without_inspection).losses()
    for detector in ("taken out by the rival", "written by liza", "deleted by liza"):
        assert losses[detector], detector


# --- half way through -----------------------------------------------------------------------------------------------


HALVES = pytest.mark.parametrize(
    "cut", ["  type: spec_gap\n", "  details:\n    spec_r"], ids=["half that parses", "half that does not parse"]
)


@HALVES
@pytest.mark.parametrize("truncates", [True, False], ids=["truncating", "over the old text"])
def test_text_being_written_in_place_survives_whole(tmp_path: Path, cut: str, truncates: bool) -> None:
    """The other program has written half and pauses; liza tries several times before it continues."""
    paths = boards.make(tmp_path)
    theirs = boards.version(7).replace("reporter: coder-0", "reporter: a program without the lock")
    at = theirs.index(cut) + len(cut)
    with Signal() as half_is_there, Signal() as go_on, Signal() as tried:

        def other_program() -> None:
            flags = os.O_WRONLY | (os.O_TRUNC if truncates else 0)
            fd = os.open(paths.state, flags)
            os.write(fd, theirs[:at].encode())
            half_is_there.give()
            go_on.take()
            os.write(fd, theirs[at:].encode())
            os.ftruncate(fd, len(theirs.encode()))
            os.close(fd)

        def edit(document: Document) -> bytes:
            tried.give()
            return append_record(document, "anomalies", boards.anomaly("liza"))

        def liza() -> bool:
            try:
                Board(paths).rewrite(edit)
            except LizaError:  # it was unreadable: reported, and nothing done
                tried.give()
                tried.give()
                return False
            return True

        with Child(other_program) as other:
            half_is_there.take()
            with Child(liza) as appending:
                tried.take()
                tried.take()  # the second try: the first one was undone
                go_on.give()
                assert other.result() is None
                appended = appending.result()
    written = Path(paths.state).read_text(encoding="utf-8")
    assert written.startswith(theirs)
    if not appended:
        assert written == theirs
        add(paths)
    assert boards.reporters(paths) == ["a program without the lock", "liza"]
    assert boards.leftovers(paths) == []
