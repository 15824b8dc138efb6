"""log.yaml: exact texts before and after an appended entry, and the logs to which none is appended."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from liza.errors import LizaError, Refused, Unreadable
from liza.store.compare import identical
from liza.store.document import parse_log
from liza.store.log import append_entry
from liza.store.paths import Paths
from tests.store.files import old
from tests.store.oracle import ruamel_value

ENTRY = {"timestamp": "2025-01-18T14:32:00Z", "agent": "a", "action": "x", "detail": "two\nlines"}
TEXT = "- timestamp: 2025-01-18T14:32:00Z\n  agent: a\n  action: x\n  detail: |-\n    two\n    lines\n"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(str(tmp_path))


def written(paths: Paths, text: str) -> None:
    old(Path(paths.log), text)


def indented(columns: int) -> str:
    return "".join(" " * columns + line + "\n" for line in TEXT.splitlines())


APPENDED = {
    "an empty file": ("", TEXT),
    "only comments": ("# what was done\n", "# what was done\n" + TEXT),
    "a comment without a line break": ("# what was done", "# what was done\n" + TEXT),
    "a marker and nothing else": ("---\n", "---\n" + TEXT),
    "entries": ("- a: 1\n- b: 2\n", "- a: 1\n- b: 2\n" + TEXT),
    "entries indented": ("  - a: 1\n  - b: 2\n", "  - a: 1\n  - b: 2\n" + indented(2)),
    "no line break at the end": ("- a: 1\n- b: 2", "- a: 1\n- b: 2\n" + TEXT),
    "a comment at the end": ("- a: 1\n# so far\n", "- a: 1\n# so far\n" + TEXT),
    "entries in braces": ("- {a: 1}\n- [x]\n", "- {a: 1}\n- [x]\n" + TEXT),
    "entries that begin below their dash": ("-\n  a: 1\n-\n  b: 2\n", "-\n  a: 1\n-\n  b: 2\n" + TEXT),
    "an entry that is a list": ("- - 1\n  - 2\n", "- - 1\n  - 2\n" + TEXT),
    "lists inside the entries": ("- a:\n  - x\n  - y\n", "- a:\n  - x\n  - y\n" + TEXT),
    "a literal block with dashes in it": ("- a: |\n    - x\n    # y\n", "- a: |\n    - x\n    # y\n" + TEXT),
    "a literal block that keeps its line breaks": ("- a: |+\n    x\n\n\n", "- a: |+\n    x\n\n\n" + TEXT),
    "a BOM": ("\ufeff- a: 1\n", "\ufeff- a: 1\n" + TEXT),
    "a directive": ("%YAML 1.2\n---\n- a: 1\n", "%YAML 1.2\n---\n- a: 1\n" + TEXT),
    "CRLF": ("- a: 1\r\n- b: 2\r\n", "- a: 1\r\n- b: 2\r\n" + TEXT.replace("\n", "\r\n")),
    "empty brackets": ("[]\n", TEXT),
    "empty brackets behind a comment": ("# what was done\n[]\n", "# what was done\n" + TEXT),
}


@pytest.mark.parametrize(("before", "after"), APPENDED.values(), ids=APPENDED.keys())
def test_entry_is_appended_in_the_style_of_the_log(paths: Paths, before: str, after: str) -> None:
    written(paths, before)
    append_entry(paths, ENTRY)
    new = Path(paths.log).read_bytes()
    assert new.decode() == after
    entries = [*parse_log(before.encode(), "log.yaml").data, ENTRY]
    assert identical(parse_log(new, "log.yaml").data, entries)
    assert identical(ruamel_value(new), entries)


def test_missing_log_is_created(paths: Paths) -> None:
    append_entry(paths, ENTRY)
    append_entry(paths, ENTRY)
    assert Path(paths.log).read_text() == TEXT + TEXT


UNFINISHED = {
    "an open quote": '- a: 1\n- b: "half',
    "an open bracket": "- a: 1\n- b: [1,",
    "a key without a colon": "- a: 1\n- b: 2\n  hal",
    "half a UTF-8 character": "- a: 1\n- b: caf\u00e9",
    "a mapping instead": "a: 1\n",
    "a text instead": "nothing yet\n",
    "an end marker": "- a: 1\n...\n",
    "entries in brackets": "[{a: 1}]\n",
    "entries in brackets over lines": "[\n  {a: 1}\n  ]\n",
    "a tab as indentation": "- a: 1\n- b:\n\t\tc: 1\n",
}


@pytest.mark.parametrize("text", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_log_with_an_unfinished_end_is_refused_and_kept(paths: Paths, text: str) -> None:
    raw = text.encode()[: -1 if text.endswith("\u00e9") else None]
    Path(paths.log).write_bytes(raw)
    with pytest.raises(Refused) as caught:
        append_entry(paths, ENTRY)
    assert Path(paths.log).read_bytes() == raw
    assert paths.log in str(caught.value)
    assert caught.value.hint


def test_refusal_names_the_line_of_the_unfinished_entry(paths: Paths) -> None:
    written(paths, '# log\n- a: 1\n- b: 2\n- c: "half\n')
    with pytest.raises(Refused) as caught:
        append_entry(paths, ENTRY)
    assert (caught.value.line, caught.value.column) == (4, 1)


@pytest.mark.parametrize("text", ["[ ]\n", "# use [] for none\n[]\n", "[]  # none yet\n", "[\n]\n"])
def test_empty_list_takes_an_entry_or_is_refused(paths: Paths, text: str) -> None:
    """The log can be read, so it must not be reported as unreadable (exit code 4)."""

    written(paths, text)
    try:
        append_entry(paths, ENTRY)
    except Refused:
        assert Path(paths.log).read_text() == text
        return
    assert parse_log(Path(paths.log).read_bytes(), "log.yaml").data == [ENTRY]
    for comment in re.findall(r"#.*", text):
        assert comment in Path(paths.log).read_text()


@pytest.mark.parametrize("ending", ["- a: 1", "- a: 1\n", '- a: "half', "  - a: 1\n"])
def test_log_that_begins_with_many_comments_is_read_to_its_end(paths: Paths, ending: str) -> None:
    text = (
        "# " + "-" * 29 + "\n"
    ) * 1024 + ending  # lines of 32 bytes: whatever is read at first ends with a whole one
    written(paths, text)
    try:
        append_entry(paths, ENTRY)
    except LizaError:
        assert Path(paths.log).read_text() == text
        return
    assert parse_log(Path(paths.log).read_bytes(), "log.yaml").data == [{"a": 1}, ENTRY]


def test_last_entry_of_a_megabyte_is_checked_whole(paths: Paths) -> None:
    long = "- a: " + "x" * (1 << 20) + "\n"
    written(paths, "- b: 1\n" + long)
    append_entry(paths, ENTRY)
    assert Path(paths.log).read_text() == "- b: 1\n" + long + TEXT
    written(paths, "- b: 1\n" + long.replace(": ", ": '"))
    with pytest.raises(Refused):
        append_entry(paths, ENTRY)


@pytest.mark.parametrize("value", [{1, 2}, object(), "\ud83d"], ids=["a set", "an object", "half a surrogate pair"])
def test_refusal_of_an_entry_without_yaml_form_blames_the_entry(paths: Paths, value: Any) -> None:
    written(paths, "- a: 1\n")
    with pytest.raises(Refused) as caught:
        append_entry(paths, {**ENTRY, "detail": value})
    assert Path(paths.log).read_text() == "- a: 1\n"
    assert "not whole" not in caught.value.message, "the entry is at fault, not the log"


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_log_that_is_not_a_regular_file_is_refused(paths: Paths, kind: str) -> None:
    os.mkdir(paths.log) if kind == "folder" else os.mkfifo(paths.log)
    with pytest.raises((Refused, Unreadable)):
        append_entry(paths, ENTRY)
