"""Reports of test runners in the JUnit format, as they are found in the wild.

A report may be large and anybody's: it is read in pieces, no tree of it is made, and what a hostile one could do
(entities that grow, files of ours that it names) is forbidden. A failure is a test that ran; an error is one that did
not, and so is a suite that could not be loaded, which some runners report as a failure of that suite.
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from liza.errors import Refused
from liza.store.files import open_regular
from liza.toolerrors.results import FAILED, INFRA, PASSED

SKIPPED = "skipped"
LABEL = 500  # characters of a test's name that nobody gave
NAMED = 20  # tests that are named where only their number matters
TEXT = 4_000_000  # characters of what a test said that are kept
LARGEST = 50_000_000  # bytes of a report
TAG = 4_000_000  # characters of one tag with its attributes
BRIEF = 500  # the same of a test that nobody asked about
_PIECE = 1 << 18

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_PLAIN = '<?xml version="1.0"?> +AGE- \\x41'  # some codecs unpack, shift or unescape it
_SEPARATORS = re.compile(r"\.py::|::|[\s./\\#$\u203a>]+")
_PARAMETERS = re.compile(r"(?:\([^()]*\))?(?:\[.*\])?$", re.DOTALL)
_HOOK = re.compile(r'"(?:before|after) (?:all|each)" hook')  # mocha has no other word for it
_NODE = "test"  # what node has as the class of every test
_SCRIPT = re.compile(r"/.*\.[cm]?[jt]sx?")
_HOOKS = ("hookFailed", "cancelledByParent")  # node: before the test, which was not run then
_NOT_RUN = ("notrun", "disabled", "skipped")  # ctest and googletest say it in an attribute only
_ROOTS = ("testsuites", "testsuite")


class Outcome(NamedTuple):
    """What came of a test that was asked for."""

    result: str  # failed, passed, infra or skipped
    text: str = ""  # what the runner said


class Totals(NamedTuple):
    """How many tests of a report were what."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @property
    def all(self) -> int:
        return sum(self)


class Report(NamedTuple):
    """One or several reports of one run, as far as somebody asked for them."""

    found: Mapping[str, Outcome]  # by the name that was asked for
    several: Mapping[str, Sequence[str]]  # names that fit different tests, with those
    others: Totals  # of the tests that nobody asked for
    failing: tuple[str, ...]  # some of them
    broken: tuple[str, ...]  # what was said by what could not be run, and belongs to no test that was asked for
    same: Mapping[str, str] = {}  # names of a test that another name was found by already
    unnamed: Outcome | None = None  # a failure of nobody knows which test
    note: str = ""  # why this is not from a report

    @property
    def is_broken(self) -> bool:
        return bool(self.broken)


def read(files: Sequence[str], names: Iterable[str], *, every: bool = False) -> Report:
    """What the reports of one run say of the tests with these names; `Refused` where one is no report.

    With `every`, tests that failed and were not asked for are found as well, by their own names: the first 20 of them.
    """
    collected = Collected(tuple(dict.fromkeys(names)), every)
    for file in files:
        try:
            # One of the command's own descriptors, as /dev/stdin, may be a pipe; anywhere else nobody waits at one.
            with open(file, "rb", opener=None if file.startswith("/dev/") else open_regular) as stream:
                if os.fstat(stream.fileno()).st_size > LARGEST:
                    raise _too_large(file)
                _parse(stream, file, collected)
        except OSError as error:
            hint = "name a report that the test runner wrote, like: pytest --junitxml=report.xml"
            raise Refused(f"it could not be read: {error.strerror}", hint=hint, file=file) from None
    return collected.report()


def _too_large(file: str) -> Refused:
    hint = "have the test runner write less of what the tests print, or several reports"
    return Refused(f"it has more than {LARGEST:,} bytes", hint=hint, file=file)


def identity(file: str) -> str | None:
    """What tells one report from the next: its bytes, and when they were written. None where it cannot be read twice.

    A run may write the very bytes of the run before, where no times are in them: then the file is newer. A copy that
    keeps the time is the same report, whatever its name is.
    """
    import hashlib

    try:
        with open(file, "rb", opener=open_regular) as stream:
            status = os.fstat(stream.fileno())
            digest = hashlib.file_digest(stream, "sha256")
    except OSError:
        return None  # whoever reads it says why
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
                hint = "no test runner writes that: see where the file is from"
                raise Refused(f"one tag in it has more than {TAG:,} characters", hint=hint, file=file)
        parser.close()
    except DefusedXmlException as error:
        hint = "no test runner writes that: see where the file is from"
        message = f"it declares entities or a document type ({type(error).__name__}), which is not allowed here"
        raise Refused(message, hint=hint, file=file) from None
    except ParseError as error:
        line, column = error.position
        hint = "run the tests again; a runner that was killed leaves half a report"
        said = str(error).partition(": ")[0]
        raise Refused(f"it is no whole XML: {said}", hint=hint, file=file, line=line, column=column + 1) from None


def _decoded(stream: BinaryIO, file: str) -> Iterator[str]:
    """The text of a report, in the encoding that it says; bytes that are none of it become a mark."""
    piece, size = stream.read(_PIECE), 0
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    encoding = next((name for mark, name in marks if piece.startswith(mark)), None)
    if encoding is None:
        declared = _ENCODING.match(piece)
        encoding = declared[1].decode() if declared and _reads_plainly(declared[1].decode()) else "utf-8"
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece:
        yield decoder.decode(piece)
        piece, size = stream.read(_PIECE), size + len(piece)
        if size > LARGEST:
            raise _too_large(file)
    yield decoder.decode(b"", final=True)


def _reads_plainly(encoding: str) -> bool:
    """Whether that is an encoding of text in which plain characters are themselves, as those that named it were."""
    try:
        return _PLAIN.encode().decode(encoding, "replace") == _PLAIN
    except (LookupError, ValueError):
        return False


def _cleaned(pieces: Iterator[str]) -> Iterator[str]:
    """Without characters that XML does not have, raw or as references: runners pass on whatever a test prints."""
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


# --- what is in it --------------------------------------------------------------------------------------------------


class _Case:
    """A test while its element is read."""

    def __init__(self, attributes: Mapping[str, str], suites: Sequence[str]) -> None:
        self.name = attributes.get("name", "")
        self.group = attributes.get("classname", "")
        if self.group in ("", _NODE):  # which says nothing: tests of two suites may have one name
            self.group = " ".join(filter(None, suites))
        self.file = attributes.get("file", "")
        # What was to be done before or around its tests; node calls a file that could not be loaded by its path.
        self.is_suite = self.name in ("", *suites[-1:]) or _SCRIPT.fullmatch(self.name) is not None
        self.meant: tuple[list[str], list[str]] = ([], [])
        self.kinds = {"skipped"} if attributes.get("status") in _NOT_RUN else set()
        self.message = ""
        self.text: list[str] = []
        self.printed: list[str] = []

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.file, self.group, self.name

    @property
    def result(self) -> str:
        if self.kinds & {"failure", "error"} and (self.is_suite or _HOOK.search(self.name)):
            return INFRA
        if self.kinds >= {"failure", "skipped"}:
            return SKIPPED  # it was expected to fail
        if "failure" in self.kinds:
            return FAILED
        return INFRA if "error" in self.kinds else SKIPPED if "skipped" in self.kinds else PASSED

    @property
    def said(self) -> str:
        text = "".join(self.text if self.message or self.text else self.printed).strip("\n")
        return text if not self.message or self.message.strip() in text else f"{self.message}\n{text}".strip("\n")


class _Target:
    """Takes what the parser finds, one element after the other, and keeps none of it."""

    def __init__(self, collected: "Collected", file: str) -> None:
        self.collected = collected
        self.file = file
        self.depth = 0
        self.suites: list[str] = []
        self.case: _Case | None = None
        self.inside: int | None = None  # the depth of the element whose text is being read
        self.into: list[str] = []  # where that text goes, and how much of it is still taken
        self.left = 0
        self.errors = 0  # that the suites count
        self.seen = 0
        self.silent = 0  # characters since the parser found something; it reads a long tag again with each piece

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.silent = 0
        tag = tag.rpartition("}")[2]
        if self.depth == 0 and tag not in _ROOTS:
            hint = "JUnit XML is expected, whose root is <testsuites> or <testsuite>"
            raise Refused(f"its root is <{tag[:60]}>, so it is no JUnit report", hint=hint, file=self.file)
        self.depth += 1
        if tag in _ROOTS:
            self.suites.append(attributes.get("name", ""))
            if self.depth == 1 or len(self.suites) == 2:
                self.errors = max(self.errors, _number(attributes.get("errors")))
        elif tag == "testcase" and self.case is None:
            self.case = _Case(attributes, self.suites)
            self.case.meant = self.collected.meant(self.case)
        elif self.case is not None and self.inside is None:
            self._said(self.case, tag, attributes)

    def _said(self, case: _Case, tag: str, attributes: Mapping[str, str]) -> None:
        """Something about a test: what came of it, or what it printed, which tells where its failure does not."""
        asked = any(case.meant) or self.collected.every
        most = TEXT if asked else BRIEF
        if tag in ("failure", "error") and not case.kinds:
            case.message = attributes.get("message", "")[:most]
            self.inside, self.into, self.left = self.depth, case.text, most
        elif asked and tag in ("system-out", "system-err"):
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
            self.collected.broken.append("the test runner reports errors, and no test in which they were")


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else 0


# --- which test is meant --------------------------------------------------------------------------------------------


def _key(name: str) -> str:
    """A test's name without what runners write differently: separators, and characters that do not print."""
    plain = "".join(char for char in name if (char.isprintable() or char.isspace()) and char != "\ufffd")
    return " ".join(part for part in _SEPARATORS.split(plain) if part)


class Collected:
    """What was found of the tests that were asked for, and how many others there were."""

    def __init__(self, names: Sequence[str], every: bool = False) -> None:
        self.names = names
        self.every = every
        self.unasked: dict[str, dict[Any, Outcome]] = {}  # tests that failed, by their own names
        self.keys = [(key, name) for name in names if (key := _key(name))]
        self.ends = tuple({key.rpartition(" ")[2] for key, _ in self.keys})
        self.exact: dict[str, dict[Any, Outcome]] = {}
        self.loose: dict[str, dict[Any, Outcome]] = {}
        self.counts = dict.fromkeys((PASSED, FAILED, INFRA, SKIPPED), 0)
        self.failing: list[str] = []
        self.broken: list[str] = []

    def meant(self, case: _Case) -> tuple[list[str], list[str]]:
        """The names that are a test's own, and those that are the end of its whole name."""
        plain = case.name.isprintable() and "\ufffd" not in case.name
        if plain and not any(end in case.name for end in self.ends):
            return [], []  # nearly all of a large report
        bare = _PARAMETERS.sub("", case.name) or case.name
        keys = set()
        for name in {case.name, bare}:
            keys |= {_key(name), _key(f"{case.group}::{name}"), _key(f"{case.file}::{name}")}
        if case.group and case.name.endswith(f" {case.group}"):
            keys.add(_key(case.group))  # mocha: the title alone, behind those of its suites
        exact = [name for key, name in self.keys if key in keys]
        whole = [_key(f"{case.group}::{name}") for name in (case.name, bare)]
        loose = [
            name for key, name in self.keys if name not in exact and any(each.endswith(f" {key}") for each in whole)
        ]
        return exact, loose

    def add(self, case: _Case) -> None:
        exact, loose = case.meant
        outcome = Outcome(case.result, case.said if case.result in (FAILED, INFRA) else "")
        for names, place in ((exact, self.exact), (loose, self.loose)):
            for name in names:
                outcomes = place.setdefault(name, {})
                outcomes[case.identity] = _later(outcomes.get(case.identity), outcome)
        if exact or loose or (self.every and self._is_unasked(case, outcome)):
            return
        self.counts[outcome.result] += 1
        if outcome.result == FAILED and len(self.failing) < NAMED:
            self.failing.append(case.name[:200])
        if outcome.result == INFRA and len(self.broken) < NAMED:
            self.broken.append(f"{case.name or case.group}: {case.said}"[: 4 * BRIEF])

    def take(self, group: str, name: str, outcome: Outcome) -> None:
        """A test that is known from elsewhere, as if it were in a report."""
        case = _Case({"name": name, "classname": group}, ())
        case.meant = self.meant(case)
        case.kinds.add("failure" if outcome.result == FAILED else "error")
        case.text.append(outcome.text)
        self.add(case)

    def _is_unasked(self, case: _Case, outcome: Outcome) -> bool:
        """Whether a test that nobody asked for counts: it failed, now or before in the same report."""
        bare = _PARAMETERS.sub("", case.name) or case.name
        label = " ".join("::".join(filter(None, (case.group or case.file, bare))).split())[:LABEL]
        if label not in self.unasked and (outcome.result != FAILED or len(self.unasked) == NAMED or not label):
            return False
        outcomes = self.unasked.setdefault(label, {})
        outcomes[case.identity] = _later(outcomes.get(case.identity), outcome)
        return True

    def report(self) -> Report:
        found: dict[str, Outcome] = {}
        same: dict[str, str] = {}
        taken: dict[frozenset[Any], str] = {}
        several: dict[str, Sequence[str]] = {}
        clear: set[Any] = set()
        unclear: dict[Any, Outcome] = {}
        for name in self.names:
            outcomes = self.exact.get(name) or self.loose.get(name) or {}
            places = {(file, group, _PARAMETERS.sub("", test)) for file, group, test in outcomes}
            if len(places) > 1:
                several[name] = sorted("::".join(filter(None, place)) for place in places)[:NAMED]
                unclear |= outcomes
            elif outcomes:
                first = taken.setdefault(frozenset(outcomes), name)
                if first != name:
                    same[name] = first
                    continue
                found[name] = _worst(outcomes.values())
                clear |= outcomes.keys()
        for label, outcomes in self.unasked.items():
            worst = _worst(outcomes.values())
            if worst.result == FAILED:
                found.setdefault(label, worst)
            else:
                self.counts[worst.result] += 1  # it was run again, and passed
        observed = {place: outcome.result for place, outcome in unclear.items() if place not in clear}
        kinds = [*observed.values()]
        others = Totals(*(self.counts[kind] + kinds.count(kind) for kind in (PASSED, FAILED, INFRA, SKIPPED)))
        failing = [*self.failing, *(place[2][:200] for place, result in observed.items() if result == FAILED)]
        return Report(found, several, others, tuple(failing[:NAMED]), tuple(self.broken), same)


def _later(before: Outcome | None, now: Outcome) -> Outcome:
    """The same test once more: run again, it is what it was last. An error after a failure is of its tidying up."""
    if before is not None and (now.result == SKIPPED or (before.result == FAILED and now.result == INFRA)):
        return before
    return now


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Of a test with parameters: it fails if it fails with any."""
    order = (FAILED, INFRA, PASSED, SKIPPED)
    return min(outcomes, key=lambda each: order.index(each.result))
