"""A file that gets one line a message: inside the project, and nothing that could hurt anybody."""

import json
import os
from pathlib import Path

import pytest

from liza.notify.file import File
from liza.notify.message import Message, NotSent

HELLO = Message(
    "alarm", "liza: alarm in team", "A task is blocked: $(rm -rf ~)\nsecond", "2025-01-18T14:32:00Z", "/team"
)


def refused(project: Path, name: str = "told.jsonl") -> str:
    with pytest.raises(NotSent) as error:
        File(name, str(project)).send(HELLO)
    return error.value.why


def test_each_message_is_a_line_of_json(tmp_path: Path) -> None:
    for _ in range(2):
        File("told.jsonl", str(tmp_path)).send(HELLO)
    lines = (tmp_path / "told.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [HELLO._asdict()] * 2


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """Agents can make one: to a file that somebody's shell will read."""
    project, outside = tmp_path / "team", tmp_path / ".bashrc"
    project.mkdir()
    outside.write_text("")
    (project / "told.jsonl").symlink_to(outside)
    assert refused(project) == "it is a link that leads elsewhere"
    assert outside.read_text() == ""


@pytest.mark.parametrize("name", ["state.yaml", "rules.yaml"])
def test_a_link_to_the_blackboard_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / ".liza").mkdir()
    (tmp_path / ".liza" / name).write_text("version: 1\n")
    (tmp_path / "told.jsonl").symlink_to(tmp_path / ".liza" / name)
    assert refused(tmp_path) == "it is a link that leads elsewhere"
    assert (tmp_path / ".liza" / name).read_text() == "version: 1\n"


def test_a_project_that_is_a_link_itself_is_one_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    File("told.jsonl", str(tmp_path / "link")).send(HELLO)
    assert (tmp_path / "real" / "told.jsonl").exists()


def test_a_fifo_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told.jsonl")
    assert refused(tmp_path) == "it is not a regular file"


def test_a_fifo_that_somebody_reads_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told.jsonl")
    reader = os.open(tmp_path / "told.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert refused(tmp_path) == "it is not a regular file"
    finally:
        os.close(reader)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert refused(tmp_path, "no/such/told.jsonl") == "No such file or directory"
