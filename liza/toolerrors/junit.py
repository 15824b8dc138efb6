"""Read JUnit reports as real test runners write them.

A report may be large and come from anywhere: it is read in pieces, no tree is built, and what a hostile one could use
(growing entities, references to our files) is forbidden. A failure is a test that ran; an error is one that did not,
and so is a suite that could not be loaded, which some runners report as a failure of that suite. What else differs
between runners (node, mocha, ctest) is in junit_case.py.
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO

from liza.errors import Refused
from liza.store.files import open_regular
from liza.toolerrors.junit_case import Case
from liza.toolerrors.requested_tests import BRIEF, Collected
from liza.toolerrors.results import INFRA, Report

TEXT = 4_000_000  # characters of a test's output that are kept
LARGEST = 50_000_000  # bytes of a report
TAG = 4_000_000  # characters of one tag with its attributes
_PIECE = 1 << 18

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_PLAIN = '<?xml version="1.0"?> +AGE- \\x41'  # some codecs unpack, shift or unescape it
_HOOKS = ("hookFailed", "cancelledByParent")  # node: before the test, which was not run then
_ROOTS = ("testsuites", "testsuite")


def read(files: Sequence[str], names: Iterable[str], *, every: bool = False) -> Report:
    """Read the reports of one run for the tests with these names; `Refused` for a file that is not a report.

    With `every`, tests that failed without being requested are found as well, by their own names: the first 20.
    """
    collected = Collected(tuple(dict.fromkeys(names)), every)
    for file in files:
        try:
            # /dev/stdin and the like may be a pipe; any other path that is one could block.
            with open(file, "rb", opener=None if file.startswith("/dev/") else open_regular) as stream:
                if os.fstat(stream.fileno()).st_size > LARGEST:
                    raise _too_large(file)
                _parse(stream, file, collected)
        except OSError as error:
            hint = "name a report that the test runner wrote, like: pytest --junitxml=report.xml"
            raise Refused(f"cannot be read: {error.strerror}", hint=hint, file=file) from None
    return collected.report()


def _too_large(file: str) -> Refused:
    hint = "have the test runner write less of the tests' output, or several reports"
    return Refused(f"more than {LARGEST:,} bytes", hint=hint, file=file)


def identity(file: str) -> str | None:
    """A digest of a report's bytes and modification time; None where it cannot be read twice.

    A run may write the same bytes as the run before, if they contain no times: then the file is newer. A copy that
    keeps the time is the same report.
    """
    import hashlib

    try:
        with open(file, "rb", opener=open_regular) as stream:
            status = os.fstat(stream.fileno())
            digest = hashlib.file_digest(stream, "sha256")
    except OSError:
        return None  # reading it reports why
    digest.update(f"\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


def _parse(stream: BinaryIO, file: str, collected: "Collected") -> None:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    target = _Target(collected, file)
    parser = DefusedXMLParser(target=target, forbid_dtd=True)
    try:
        for piece in _cleaned(_decoded(stream, file)):
            target.silent += len(piece)
            parser.feed(piece)
            if target.silent > TAG:
                hint = "no test runner writes that: check where the file comes from"
                raise Refused(f"one tag has more than {TAG:,} characters", hint=hint, file=file)
        parser.close()
    except DefusedXmlException as error:
        hint = "no test runner writes that: check where the file comes from"
        message = f"declares entities or a document type ({type(error).__name__}), which is not allowed here"
        raise Refused(message, hint=hint, file=file) from None
    except ParseError as error:
        line, column = error.position
        hint = "run the tests again; a runner that was killed leaves half a report"
        reason = str(error).partition(": ")[0]
        raise Refused(f"not complete XML: {reason}", hint=hint, file=file, line=line, column=column + 1) from None


def _decoded(stream: BinaryIO, file: str) -> Iterator[str]:
    """Decode a report as it declares; invalid bytes become replacement characters."""
    piece, size = stream.read(_PIECE), 0
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    encoding = next((name for mark, name in marks if piece.startswith(mark)), None)
    if encoding is None:
        declared = _ENCODING.match(piece)
        encoding = declared[1].decode() if declared and _is_ascii_superset(declared[1].decode()) else "utf-8"
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece:
        yield decoder.decode(piece)
        piece, size = stream.read(_PIECE), size + len(piece)
        if size > LARGEST:
            raise _too_large(file)
    yield decoder.decode(b"", final=True)


def _is_ascii_superset(encoding: str) -> bool:
    """Whether ASCII characters decode to themselves, as in the declaration that named the encoding."""
    try:
        return _PLAIN.encode().decode(encoding, "replace") == _PLAIN
    except (LookupError, ValueError):
        return False


def _cleaned(pieces: Iterator[str]) -> Iterator[str]:
    """Replace characters that XML does not allow, raw or as references: runners copy whatever a test prints."""
    rest = ""
    for piece in pieces:
        text = rest + piece
        cut = text.rfind("&", max(len(text) - 12, 0))
        text, rest = (text[:cut], text[cut:]) if cut >= 0 and ";" not in text[cut:] else (text, "")
        yield _REFERENCE.sub(_valid, _INVALID.sub("\ufffd", text))
    yield rest


def _valid(reference: re.Match[str]) -> str:
    number = int(reference[1], 16) if reference[1] else int(reference[2])
    fine = number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or 0xFFFF < number < 0x110000
    return reference[0] if fine else "\ufffd"


class _Target:
    """Receives the parser's events and keeps no tree of them."""

    def __init__(self, collected: "Collected", file: str) -> None:
        self.collected = collected
        self.file = file
        self.depth = 0
        self.suites: list[str] = []
        self.case: Case | None = None
        self.inside: int | None = None  # the depth of the element whose text is being read
        self.into: list[str] = []  # receives that text, up to `left` more characters
        self.left = 0
        self.errors = 0  # counted by the suites
        self.seen = 0
        self.silent = 0  # characters since the last event; the parser scans a long tag again with each piece

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.silent = 0
        tag = tag.rpartition("}")[2]
        if self.depth == 0 and tag not in _ROOTS:
            hint = "expected JUnit XML with the root <testsuites> or <testsuite>"
            raise Refused(f"its root is <{tag[:60]}>, so it is not a JUnit report", hint=hint, file=self.file)
        self.depth += 1
        if tag in _ROOTS:
            self.suites.append(attributes.get("name", ""))
            if self.depth == 1 or len(self.suites) == 2:
                self.errors = max(self.errors, _number(attributes.get("errors")))
        elif tag == "testcase" and self.case is None:
            self.case = Case(attributes, self.suites)
            self.case.matches = self.collected.match(self.case)
        elif self.case is not None and self.inside is None:
            self._take_detail(self.case, tag, attributes)

    def _take_detail(self, case: Case, tag: str, attributes: Mapping[str, str]) -> None:
        """The outcome of a test, or its output, which is used where the failure has no text."""
        is_requested = any(case.matches) or self.collected.every
        most = TEXT if is_requested else BRIEF
        if tag in ("failure", "error") and not case.kinds:
            case.message = attributes.get("message", "")[:most]
            self.inside, self.into, self.left = self.depth, case.text, most
        elif is_requested and tag in ("system-out", "system-err"):
            self.inside, self.into, self.left = self.depth, case.printed, most
        if tag in ("failure", "error", "skipped"):
            case.kinds.add("error" if attributes.get("type") in _HOOKS else tag)

    def data(self, text: str) -> None:
        self.silent = 0
        if self.inside is not None and self.left > 0:
            self.into.append(text[: self.left])
            self.left -= len(text)

    def end(self, tag: str) -> None:
        tag = tag.rpartition("}")[2]
        if self.inside == self.depth:
            self.inside = None
        if tag == "testcase" and self.case is not None and self.inside is None:
            self.seen += self.case.result == INFRA
            self.collected.add(self.case)
            self.case = None
        elif tag in _ROOTS and self.suites:
            self.suites.pop()
        self.depth -= 1

    def close(self) -> None:
        if self.errors > self.seen:
            self.collected.broken.append("the test runner reports errors, but no test that has them")


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else 0
