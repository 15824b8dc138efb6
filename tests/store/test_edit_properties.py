"""After any write, every byte outside the written span is the same, and both parsers read the intended value."""

from typing import Any

from hypothesis import assume, event, example, given
from hypothesis import strategies as st

from liza.errors import Refused, Unreadable
from liza.store import edit
from liza.store.compare import identical
from liza.store.document import Document, parse
from tests.store.generated import RECORDS, SECTIONS, VALUES, WORDS, boards
from tests.store.oracle import ASKED, ruamel_value, section_spans


def read(text: str) -> Document:
    try:
        return parse(text.encode(), "state.yaml")
    except Unreadable:
        assume(False)
        raise


def check(document: Document, name: str, meant: Any, new: bytes) -> None:
    """The new bytes have the intended value, and differ from the old ones only inside the section."""
    whole = {**document.data, name: meant}
    assert identical(parse(new, "state.yaml").data, whole)
    assert identical(ruamel_value(new), whole)
    old = document.raw
    if name not in document.data:
        end = len(old) if b"\n..." not in old else old.rindex(b"\n...") + 1
        assert new.startswith(old[:end])
        assert new.endswith(old[end:])
        return
    start, end = section_spans(old)[name]
    assert new.startswith(old[:start])
    assert new.endswith(old[end:])


def attempt(document: Document, name: str, meant: Any, write: Any) -> bytes | None:
    try:
        new: bytes = write()
    except Refused as error:
        event(f"refused: {str(error).partition('(')[2][:40]}")
        return None
    event("written")
    check(document, name, meant, new)
    return new


@example("a: 1\n\nb: |+\n  keeps its line breaks\n", "claims", [1])
@ASKED
@given(boards(), st.sampled_from(SECTIONS), VALUES)
def test_replaced_section_changes_nothing_else(text: str, name: str, value: Any) -> None:
    document = read(text)
    attempt(document, name, value, lambda: edit.replace_section(document, name, value))


@ASKED
@given(boards(), st.sampled_from(SECTIONS), RECORDS)
def test_appended_record_comes_last_and_changes_nothing_else(text: str, name: str, record: dict[str, Any]) -> None:
    document = read(text)
    old = document.data.get(name) or []
    assume(isinstance(old, list))
    new = attempt(document, name, [*old, record], lambda: edit.append_record(document, name, record))
    if new is not None and old and name in document.data:
        # An append only adds: without the added bytes the file is the old one.
        added = len(new) - len(document.raw)
        assert any(new[:at] + new[at + added :] == document.raw for at in range(len(document.raw) + 1))


@ASKED
@given(boards(), st.data(), st.dictionaries(WORDS, VALUES, min_size=1, max_size=3))
def test_set_fields_keeps_the_bytes_of_other_records(text: str, data: st.DataObject, fields: dict[str, Any]) -> None:
    document = read(text)
    name, where, record = data.draw(a_record(document))
    meant = document.data[name].copy()
    meant[where] = {**record, **fields}
    attempt(document, name, meant, lambda: edit.set_fields(document, name, where, fields))


@ASKED
@given(boards(), st.data(), WORDS, VALUES)
def test_item_inside_keeps_the_bytes_of_other_records(text: str, data: st.DataObject, field: str, item: Any) -> None:
    document = read(text)
    name, where, record = data.draw(a_record(document))
    old = record.get(field) or []
    assume(isinstance(old, list))
    meant = document.data[name].copy()
    meant[where] = {**record, field: [*old, item]}
    attempt(document, name, meant, lambda: edit.revise(document, {name: meant}))


def a_record(document: Document) -> st.SearchStrategy[tuple[str, Any, dict[str, Any]]]:
    found: list[tuple[str, Any, dict[str, Any]]] = []
    for name, value in document.data.items():
        pairs = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        found += [(name, where, record) for where, record in pairs if isinstance(record, dict)]
    assume(found)
    return st.sampled_from(found)
