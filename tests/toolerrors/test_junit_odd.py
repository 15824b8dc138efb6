"""JUnit reports that are large, odd or hostile."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.errors import Refused
from liza.toolerrors.junit import LARGEST, read
from liza.toolerrors.results import Outcome, Totals
from tests.toolerrors.xml_reports import suite, text_of


@pytest.mark.slow
def test_largest_report_is_read_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    noise = "<system-out><![CDATA[" + "what a test prints\n" * 100 + "]]></system-out>"
    with open(file, "w") as stream:
        stream.write("<testsuites>")
        for number in range((LARGEST - 2_000_000) // len(noise)):
            verdict = f"<failure message='assert {number} == 0'/>" if number % 100 == 0 else ""
            stream.write(f"<testcase classname='tests.t' name='test_{number}'>{verdict}{noise}</testcase>\n")
        stream.write("</testsuites>")
    assert LARGEST - 2_000_000 < file.stat().st_size < LARGEST
    code = (
        "import resource, sys; from liza.toolerrors.junit import read;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "found = read([sys.argv[1]], ['test_100', 'test_101']);"
        "print(found.found['test_100'].result, found.found['test_101'].result, found.others.failed);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True)
    verdict, kilobytes = done.stdout.splitlines()
    assert verdict == f"failed passed {number // 100}"
    assert int(kilobytes) < 30_000


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
BOMBS = {
    "a billion laughs": f'<!DOCTYPE r [<!ENTITY e0 "ha">{ENTITIES}]><testsuite><testcase name="&e11;"/></testsuite>',
    "one huge entity": '<!DOCTYPE r [<!ENTITY a "' + "a" * 50_000 + '">]><testsuite name="' + "&a;" * 9_000 + '"/>',
    "a file of ours": '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite name="&x;"/>',
    "a document type elsewhere": '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x.dtd"><testsuite/>',
    "an entity that is not declared": "<testsuite><testcase name='&unknown;'/></testsuite>",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_entities_and_document_types_are_refused_at_once(tmp_path: Path, bomb: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    why = "declares entities or a document type" if "<!DOCTYPE" in bomb else "not complete XML: undefined entity"
    with pytest.raises(Refused, match=why) as refused:
        text_of(tmp_path, bomb, "x")
    assert refused.value.hint
    assert "root:" not in str(refused.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_two_hundred_thousand_levels_build_no_tree(tmp_path: Path) -> None:
    text = "<testsuite>" + "<a>" * 200_000 + "<testcase name='x'/>" + "</a>" * 200_000 + "</testsuite>"
    assert text_of(tmp_path, text, "x").found["x"].result == "passed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not complete XML"),
        (b"<testsuites><testsuite name='a'><testcase name='x'>", "not complete XML"),
        (b"<testsuites></testsuite>", "not complete XML"),
        (b"FAILED tests/test_a.py", "not complete XML"),
        (b"<html><body/></html>", "its root is <html>"),
        (b"<test-run id='2'/>", "its root is <test-run>"),
        (b"\x00\x00\x00", "not complete XML"),
    ],
)
def test_invalid_report_is_refused_with_its_position(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        text_of(tmp_path, text, "x")
    assert refused.value.file == str(tmp_path / "report.xml")
    assert refused.value.hint


def test_missing_report_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.xml", tmp_path):
        with pytest.raises(Refused) as refused:
            read([str(path)], [])
        assert refused.value.file == str(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "no-such-encoding"])
def test_any_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    text = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}'?>" + suite("<testcase name='prüft é'/>")
    raw = text.encode("utf-8" if encoding.startswith("no-") else encoding)
    assert text_of(tmp_path, raw, "prüft é").found["prüft é"].result == "passed"


@pytest.mark.parametrize(
    "encoding", ["zlib", "rot13", "idna", "undefined", "unicode_escape", "utf-7", "utf-16", "punycode"]
)
def test_impossible_encoding_declaration_is_ignored(tmp_path: Path, encoding: str) -> None:
    message = "+AGE- \\x41 \xe9"
    case = suite(f"<testcase name='x'><failure>{message}</failure></testcase>")
    text = f"<?xml version='1.0' encoding='{encoding}'?>{case}"
    assert text_of(tmp_path, text, "x").found["x"] == Outcome("failed", message)


@pytest.mark.parametrize(
    "odd", ["\x1b[31mred\x1b[0m", "&#27;[31m", "&#x1B;", "&#0;", "\x00\x08", "&#xFFFF;", "&#99999999;"]
)
def test_characters_invalid_in_xml_are_replaced(tmp_path: Path, odd: str) -> None:
    text = suite(f"<testcase name='x'><failure message='{odd}'>{odd} is wrong{odd}</failure></testcase>")
    found = text_of(tmp_path, text, "x").found["x"]
    assert (found.result, " is wrong" in found.text) == ("failed", True)


def test_undecodable_bytes_are_replaced(tmp_path: Path) -> None:
    raw = suite("<testcase name='x'><failure>got @@</failure></testcase>").encode().replace(b"@@", b"\xff\xfe")
    assert text_of(tmp_path, raw, "x").found["x"].text == "got \ufffd\ufffd"


def test_reference_split_across_two_chunks_is_one(tmp_path: Path) -> None:
    for offset in range(0, 8):
        filler = "y" * ((1 << 18) - 60 - offset)
        case = "<testcase name='x'><failure>&#27;&#65;&#27;&#66;</failure></testcase>"
        text = f"<testsuite name='s'><!--{filler}-->{case}</testsuite>"
        assert text_of(tmp_path, text, "x").found["x"].text == "\ufffdA\ufffdB"


def test_namespace_prefix_is_ignored(tmp_path: Path) -> None:
    text = "<j:testsuite xmlns:j='urn:x' name='s'><j:testcase name='x'><j:failure/></j:testcase></j:testsuite>"
    assert text_of(tmp_path, text, "x").found["x"].result == "failed"


def test_endless_failure_text_is_cut(tmp_path: Path) -> None:
    text = suite(f"<testcase name='x'><failure>{'z' * 5_000_000}</failure></testcase>")
    assert len(text_of(tmp_path, text, "x").found["x"].text) == 4_000_000


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


@given(names=st.lists(NAMES, min_size=1, max_size=8, unique=True), kinds=st.data())
def test_every_test_counts_once_whatever_its_name(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], kinds: st.DataObject
) -> None:
    from xml.sax.saxutils import quoteattr

    results = {"": "passed", "<failure/>": "failed", "<error/>": "errors", "<skipped/>": "skipped"}
    drawn = [kinds.draw(st.sampled_from(list(results))) for _ in names]
    cases = [
        f"<testcase classname='group' name={quoteattr(name)}>{kind}</testcase>"
        for name, kind in zip(names, drawn, strict=True)
    ]
    report = text_of(tmp_path_factory.mktemp("report"), suite(*cases))
    counted = Totals(**{word: [results[kind] for kind in drawn].count(word) for word in Totals._fields})
    assert report.others == counted
