"""Odd YAML files, kept in odd/, and the outcome of each: read and written, read only, or unreadable.

They are as people, editors and crashes leave them. Each goes through `liza validate`, `liza log anomaly` and
`liza analyze`, as it would on a blackboard.
"""

import os
from pathlib import Path

import pytest

from tests.cli.run import Result, liza
from tests.store.oracle import libyaml_value, ruamel_value

ODD = Path(__file__).parent / "odd"
RECORD = ("log", "anomaly", "--type", "spec_gap", "--task", "task-9", "--reporter", "coder-9", "spec_ref=another")

# A record can be added, and every other byte stays.
KEPT = [
    "plain", "no_last_newline", "comments_everywhere", "literal_keeps_its_end", "bom", "crlf", "line_separator",
    "next_line", "emoji_and_bidi", "document_start", "document_end", "directive_1_1", "indented_board",
    "quoted_keys", "number_key", "flow_lists", "anomalies_null", "anchor_inside", "anchor_across",
    "anchor_from_anomalies", "self_reference", "merge_key", "tags", "python_tag", "timestamps",
    "words_of_yaml_1_1", "long_number", "torn_behind_a_colon",
]  # fmt: skip
# Can be read and evaluated, but not changed without touching more: position and start of the message.
REFUSED = {
    "cr_only.yaml": ("1:11", "its sections cannot be separated safely: a carriage return"),
    "explicit_keys.yaml": ("1:1", "its sections cannot be separated safely: the line of the key 'version'"),
    "list_key.yaml": ("2:1", "its sections cannot be separated safely: the line of the key ('a', 'b')"),
    "flow_board.yaml": ("1:1", "its sections cannot be separated safely: it is not written in block style"),
    "anomalies_text.yaml": ("", "anomalies is not a list"),
}
# Cannot be read: position and start of the message.
UNREADABLE = {
    "empty.yaml": ("", "the file is empty"),
    "comment_only.yaml": ("", "the file is empty"),
    "null.yaml": ("", "the file is empty"),
    "braces.yaml": ("", "the file is empty"),
    "brackets.yaml": ("", "expected a mapping of sections, got a list"),
    "list.yaml": ("", "expected a mapping of sections, got a list"),
    "scalar.yaml": ("", "expected a mapping of sections, got a single value"),
    "two_documents.yaml": ("", "expected one mapping of sections, got several"),
    "behind_the_end.yaml": ("", "expected one mapping of sections, got several"),
    "billion_laughs.yaml": ("8:8", "too large to be evaluated"),
    "deep_flow.yaml": ("2:265", "not valid YAML"),
    "deep_dashes.yaml": ("3:1", "not valid YAML: nested more than 200 levels deep"),
    "duplicate_section.yaml": ("4:1", "not valid YAML: duplicate mapping key: 'version'"),
    "duplicate_field.yaml": ("3:20", "not valid YAML: duplicate mapping key: 'type'"),
    "unknown_alias.yaml": ("2:10", "not valid YAML"),
    "tab_indent.yaml": ("3:2", "not valid YAML: tabs"),
    "tab_behind_colon.yaml": ("1:10", "not valid YAML"),
    "conflict.yaml": ("3:1", "not valid YAML"),
    "new_head_old_tail.yaml": ("4:3", "not valid YAML"),
    "torn_in_a_key.yaml": ("5:1", "not valid YAML"),
    "torn_in_a_mapping.yaml": ("3:3", "not valid YAML: unclosed bracket"),
    "torn_in_a_quote.yaml": ("3:26", "not valid YAML: unclosed quote"),
    "nul.bin": ("2:11", "not valid YAML: contains a NUL byte"),
    "latin1.bin": ("2:13", "not valid YAML: byte 0xe9 is not UTF-8"),
    "overlong.bin": ("2:10", "not valid YAML: byte 0xc0 is not UTF-8"),
    "utf16.bin": ("1:1", "not valid YAML: byte 0xff is not UTF-8"),
}
WRITTEN = [*(f"{name}.yaml" for name in KEPT), "raw_escape.bin"]


def board(folder: Path, name: str) -> Path:
    """A blackboard with that file, old enough to be read at once."""
    state = folder / ".liza" / "state.yaml"
    state.parent.mkdir()
    state.write_bytes((ODD / name).read_bytes())
    os.utime(state, (1e9, 1e9))
    return state


def reports(ran: Result, state: Path, place: str, words: str) -> bool:
    """The error with its position on the first line, and a hint on the second."""
    where = f"{state}:{place}" if place else str(state)
    return (
        ran.err.startswith((f"liza: {where}: {words}", f"liza: warning: {where}: {words}")) and "\n  hint: " in ran.err
    )


def is_anomalies(line: bytes) -> bool:
    return line.strip(b" \"'").startswith(b"anomalies")


def test_every_file_has_an_expected_outcome() -> None:
    assert sorted([*WRITTEN, *REFUSED, *UNREADABLE]) == sorted(file.name for file in ODD.iterdir())


@pytest.mark.parametrize("name", WRITTEN)
def test_adding_a_record_keeps_every_other_byte(tmp_path: Path, name: str) -> None:
    state = board(tmp_path, name)
    before = state.read_bytes()
    assert liza(tmp_path, "validate").code in (0, 1)
    assert state.read_bytes() == before
    added = liza(tmp_path, *RECORD)
    assert added.code == 0, added.err
    after = state.read_bytes()
    assert after.count(b"another") == 1
    # The line of the list itself may change: `[]`, nothing, or a flow list.
    kept = iter(after.splitlines(keepends=True))
    lines = before.splitlines(keepends=True)
    if not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    assert [line for line in lines if not is_anomalies(line) and line not in kept] == []
    assert liza(tmp_path, "analyze").code == 0


@pytest.mark.parametrize("name", REFUSED)
def test_uncuttable_files_are_refused_and_kept(tmp_path: Path, name: str) -> None:
    state = board(tmp_path, name)
    before = state.read_bytes()
    assert liza(tmp_path, "validate").code in (0, 1)
    waits = liza(tmp_path, *RECORD)
    assert (waits.code, reports(waits, state, *REFUSED[name])) == (0, True), waits.err
    assert len(os.listdir(state.parent / "inbox")) == 1
    assert liza(tmp_path, "analyze").code == 4, "a check that cannot be recorded is not OK"
    assert state.read_bytes() == before


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files_are_degraded_and_kept(tmp_path: Path, name: str) -> None:
    state = board(tmp_path, name)
    before = state.read_bytes()
    for words, code in ((("analyze",), 4), (RECORD, 0)):
        ran = liza(tmp_path, *words)
        assert (ran.code, reports(ran, state, *UNREADABLE[name])) == (code, True), ran.err
    assert len(os.listdir(state.parent / "inbox")) == 1
    assert liza(tmp_path, "validate").code == 4
    assert state.read_bytes() == before


NOT_READ_BY_RUAMEL = {"tags", "python_tag", "long_number", "words_of_yaml_1_1"}


def test_both_oracles_read_the_same() -> None:
    """The quick one reads the blackboards of most other tests."""
    texts = {name: (ODD / f"{name}.yaml").read_bytes() for name in KEPT if name not in NOT_READ_BY_RUAMEL}
    assert [name for name, raw in texts.items() if repr(libyaml_value(raw)) != repr(ruamel_value(raw))] == []
