"""A test case of a JUnit report, as node, mocha, ctest, googletest and pytest write it."""

import re
from collections.abc import Mapping, Sequence

from liza.toolerrors.results import FAILED, INFRA, PASSED, SKIPPED

_HOOK = re.compile(r'"(?:before|after) (?:all|each)" hook')  # the only sign of one that mocha gives
_NODE = "test"  # node's class for every test
_SCRIPT = re.compile(r"/.*\.[cm]?[jt]sx?")
_NOT_RUN = ("notrun", "disabled", "skipped")  # ctest and googletest use an attribute only


class Case:
    """A test case, filled in while its element is read."""

    def __init__(self, attributes: Mapping[str, str], suites: Sequence[str]) -> None:
        self.name = attributes.get("name", "")
        self.group = attributes.get("classname", "")
        if self.group in ("", _NODE):  # node's is always the same, and two suites may use one test name
            self.group = " ".join(filter(None, suites))
        self.file = attributes.get("file", "")
        # Setup or teardown around its tests; node names a file that could not be loaded by its path.
        self.is_suite = self.name in ("", *suites[-1:]) or _SCRIPT.fullmatch(self.name) is not None
        self.matches: tuple[list[str], list[str]] = ([], [])
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
            return SKIPPED  # an expected failure
        if "failure" in self.kinds:
            return FAILED
        return INFRA if "error" in self.kinds else SKIPPED if "skipped" in self.kinds else PASSED

    @property
    def details(self) -> str:
        text = "".join(self.text if self.message or self.text else self.printed).strip("\n")
        return text if not self.message or self.message.strip() in text else f"{self.message}\n{text}".strip("\n")
