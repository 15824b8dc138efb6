"""A file that gets one line a message: inside the project, and never through a link or a pipe."""

import json
import os
from pathlib import Path

import pytest

from liza.notify.file import File
from liza.notify.message import Message, NotSent

HELLO = Message(
    "alarm", "liza: alarm in team", "A task is blocked: $(rm -rf ~)\nsecond", "2025-01-18T14:32:00Z", "/team"
)


def refused(project: Path, name: str = "notices.jsonl") -> str:
    with pytest.raises(NotSent) as error:
        File(name, str(project)).send(HELLO)
    return error.value.why


def test_each_message_is_a_line_of_json(tmp_path: Path) -> None:
    for _ in range(2):
        File("notices.jsonl", str(tmp_path)).send(HELLO)
    lines = (tmp_path / "notices.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [HELLO._asdict()] * 2


def test_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """Agents can make one: to a file that a person's shell will read."""
    project, outside = tmp_path / "team", tmp_path / ".bashrc"
    project.mkdir()
    outside.write_text("")
    (project / "notices.jsonl").symlink_to(outside)
    assert refused(project) == "it is a link that leads elsewhere"
    assert outside.read_text() == ""


@pytest.mark.parametrize("name", ["state.yaml", "rules.yaml"])
def test_link_to_the_blackboard_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / ".liza").mkdir()
    (tmp_path / ".liza" / name).write_text("version: 1\n")
    (tmp_path / "notices.jsonl").symlink_to(tmp_path / ".liza" / name)
    assert refused(tmp_path) == "it is a link that leads elsewhere"
    assert (tmp_path / ".liza" / name).read_text() == "version: 1\n"


def test_project_that_is_itself_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    File("notices.jsonl", str(tmp_path / "link")).send(HELLO)
    assert (tmp_path / "real" / "notices.jsonl").exists()


def test_fifo_without_a_reader_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "notices.jsonl")
    assert refused(tmp_path) == "it is not a regular file"


def test_fifo_with_a_reader_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "notices.jsonl")
    reader = os.open(tmp_path / "notices.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert refused(tmp_path) == "it is not a regular file"
    finally:
        os.close(reader)


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    assert refused(tmp_path, "no/such/notices.jsonl") == "No such file or directory"
