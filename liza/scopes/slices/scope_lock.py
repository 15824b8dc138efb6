"""Which files a slice may change: the rules of the scope lock, in their order. Only decisions; no file is looked at."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, format_time, one_or_several
from liza.scopes.records import mappings_of
from liza.scopes.slices.attempt_texts import has_words
from liza.scopes.slices.fields import Slice
from liza.text import text_of

LISTED, CONTRACTS, PACKAGES, DELIVERABLES = "files_in_scope", "contracts", "packages", "deliverables"
JUSTIFICATION = ("file", "failing_test", "reason", "relationship")
JUSTIFIED, NOTHING, OUTSIDE, UNKNOWN = "justified", "nothing names it", "outside the working tree", "no scope is known"
# Folders in which packages usually are, for one that is named by a single word.
_HOMES = ("src", "lib", "internal", "pkg", "packages", "app", "apps", "cmd", "crates", "modules", "services", "libs")
_NOTE = re.compile(r"\s+(?:\([^()]*\)|(?:--|—|–)\s.*)$")
_ADDRESS = re.compile(r"(?<!\w)\w+://\S+")
_PATH = re.compile(r"(?<![\w/.@:\-()\[\]+])(?:\.{0,2}/)*[\w@.+\-\[\]()]+(?:/[\w@.+\-\[\]()*]+)+/?")
_FILE = re.compile(r"`([\w.\-]+\.[A-Za-z]\w{0,5})`")
_DOTTED = re.compile(r"(?<![\w./@\-])((?:[A-Za-z_]\w*\.){2,}[A-Za-z_]\w*)(?![\w/(])")
# "the `users` package", "packages users and orders".
_NAME = r"[`'\"]?@?[A-Za-z_][\w.@/\-]*[`'\"]?"
_NAMES = rf"{_NAME}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and|or)\s+){_NAME})*"
_PACKAGE = re.compile(r"\bpackages?\b", re.IGNORECASE)
_AFTER, _BEFORE = re.compile(rf"\s+({_NAMES})"), re.compile(rf"(?<![\w`@.])({_NAMES})\s+$")
_NEAR = 200  # characters beside that word in which the names are; more would take quadratic time
_LONGEST = 1_000  # characters of a path
_NO_NAMES = (
    "a", "an", "and", "any", "each", "every", "for", "in", "is", "its", "must", "new", "no", "of", "or", "same", "that",
    "the", "their", "this", "to", "with",
)  # fmt: skip


class Entry(NamedTuple):
    """Something that is in scope: a file, a folder, a pattern, or a package."""

    text: str  # as it is written
    rule: str
    paths: tuple[str, ...] = ()  # relative to the top of the working tree
    pattern: "re.Pattern[str] | None" = None
    inside: str | None = None  # folders that follow each other, anywhere in a path

    def holds(self, path: str) -> bool:
        if any(path == each or each == "." or path.startswith(f"{each}/") for each in self.paths):
            return True
        if self.pattern is not None and self.pattern.fullmatch(path):
            return True
        if self.inside is None:
            return False
        return f"/{self.inside}/" in f"/{path}" or f"/{path}".rpartition(".")[0].endswith(f"/{self.inside}")


class FileScope(NamedTuple):
    """What a slice may change, and which list or contract names it."""

    listed: tuple[Entry, ...] | None  # None: no list was given, which is not the same as an empty one
    inferred: tuple[Entry, ...] = ()  # in the order of the rules
    notes: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.listed is not None or bool(self.inferred)


class Decision(NamedTuple):
    """Whether a file may be changed, and which rule decided that."""

    file: str
    in_scope: bool
    rule: str
    by: str = ""


def decide_file(scope: FileScope, file: str, path: str | None, justified: Mapping[str, str]) -> Decision:
    """Whether a file is in scope; `path` is what it really is in the working tree, None if it is not in there."""
    entries = scope.listed if scope.listed is not None else scope.inferred
    found = next((each for each in entries if path is not None and each.holds(path)), None)
    if found is not None:
        return Decision(file, True, found.rule, found.text)
    if file in justified:
        return Decision(file, True, JUSTIFIED, justified[file])
    if path is None:
        return Decision(file, False, OUTSIDE)
    return Decision(file, False, NOTHING if scope.is_known else UNKNOWN)


def justifications(record: Mapping[str, Any]) -> dict[str, str]:
    """Why each file that was justified has to be changed. One without words, by hand, justifies nothing."""
    return {
        text_of(each["file"]): "; ".join(text_of(each[key]) for key in ("reason", "relationship"))
        for each in mappings_of(record, "justifications")
        if all(has_words(text_of(each.get(key))) for key in JUSTIFICATION)
    }


# --- what is written ------------------------------------------------------------------------------------------------


def paths_of(value: Any) -> list[str]:
    """The listed paths: texts, or records with a path."""
    found: list[str] = []
    for each in one_or_several(value):
        keys = ("path", "file", "name", "package")
        path = next((each[key] for key in keys if key in each), None) if isinstance(each, MAPPINGS) else each
        if isinstance(path, str) and path.strip():
            found.append(path.strip())
    return found


def strip_note(text: str) -> str:
    """A path without the note behind it: `src/x.md (update)`."""
    path = _NOTE.sub("", text.strip().strip("`")).replace("\\", "/").rstrip("/")
    return path or text.strip()


def compile_pattern(path: str) -> "re.Pattern[str] | None":
    """A path with stars as a pattern; brackets are names of folders, as some frameworks have them."""
    if "*" not in path and "?" not in path:
        return None
    words = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", path.removeprefix("./"))
    return re.compile("".join(words.get(part) or re.escape(part) for part in parts) + "(?:/.*)?", re.DOTALL)


def package_paths(name: str, module: str | None) -> tuple[tuple[str, ...], str | None]:
    """What a package's name means: paths, and consecutive folders anywhere."""
    if module and (name == module or name.startswith(f"{module}/")):
        return (name[len(module) + 1 :] or ".",), None
    if "/" not in name and "." in name and not re.search(r"\.\w{1,4}$", name.rpartition("/")[2]):
        return (), name.replace(".", "/")
    if name.count(".") > 1 and "/" not in name:
        return (), name.replace(".", "/")
    word = name.rpartition("/")[2] if name.startswith("@") else name
    if "/" not in word and "." not in word:
        return (word, *(f"{home}/{word}" for home in _HOMES)), None
    return (), None


def find_references(text: str) -> tuple[list[str], list[str]]:
    """The paths and the packages that a contract names."""
    text = _ADDRESS.sub(" ", text).replace("](", "] (")  # a link in Markdown
    paths = [_without_brackets(match).rstrip("/") for match in _PATH.findall(text) if len(match) <= _LONGEST]
    return list(dict.fromkeys([*paths, *_FILE.findall(text)])), list(dict.fromkeys(_packages(text)))


def _packages(text: str) -> Iterator[str]:
    yield from _DOTTED.findall(text)
    for word in _PACKAGE.finditer(text):
        before = _BEFORE.search(text[max(word.start() - _NEAR, 0) : word.start()])
        after = _AFTER.match(text[word.end() : word.end() + _NEAR])
        for name in re.findall(_NAME, " ".join(found[1] for found in (before, after) if found)):
            bare = name.strip("`'\"").rstrip(".,/-")
            if bare.lower() not in _NO_NAMES:
                yield bare


def _without_brackets(path: str) -> str:
    """A path without the brackets around it; those in it stay: `app/(auth)/[id].tsx`."""
    path = path.rstrip(".,;:")
    for opening, closing in ("()", "[]"):
        while path.startswith(opening) and path.find(closing) in (-1, len(path) - 1):
            path = path[1:].rstrip(".,;:")
        while path.endswith(closing) and path.count(closing) > path.count(opening):
            path = path[:-1].rstrip(".,;:")
    return path


def find_section(document: str, contract: str) -> str | None:
    """The part of a page of contracts under the heading of one of them."""
    wanted = re.compile(rf"(?<![\w-]){re.escape(contract)}(?![\w-])")
    found: list[str] = []
    depth = 0
    fenced = False
    for line in document.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        heading = None if fenced else re.match(r"(#{1,6})\s", line)
        if heading and depth and len(heading[1]) <= depth:
            depth = 0
        if heading and not depth and wanted.search(line):
            depth = len(heading[1])
        if depth:
            found.append(line)
    return "\n".join(found) if found else None


# --- what is recorded -----------------------------------------------------------------------------------------------


def add_justification(
    record: Mapping[str, Any], file: str, test: str, reason: str, relationship: str, now: datetime
) -> Slice:
    """Record why a file outside the scope has to be changed; it is not a violation then."""
    fields = dict(zip(JUSTIFICATION, (file, test, reason, relationship), strict=True))
    kept = [each for each in mappings_of(record, "justifications") if each.get("file") != file]
    changed = {**record, "justifications": [*kept, {"timestamp": format_time(now), **fields}]}
    if "scope_violations" not in record:
        return changed
    left = [each for each in mappings_of(record, "scope_violations") if each.get("file") != file]
    return {**changed, "scope_violations": left}


def set_violations(record: Mapping[str, Any], files: Iterable[str], now: datetime) -> Slice:
    """After the changed files were looked at: those outside the scope, and no others, are violations now."""
    known = {each.get("file"): each for each in mappings_of(record, "scope_violations")}
    found = [dict(known.get(file) or {"file": file, "found": format_time(now)}) for file in files]
    if not found and "scope_violations" not in record:
        return dict(record)
    return {**record, "scope_violations": found}


def violation_fields(decisions: Sequence[Decision]) -> list[dict[str, str]]:
    """The files outside the scope as a report has them, each with its justification."""
    return [
        {"file": each.file, "justification": each.by if each.rule == JUSTIFIED else "none was given"}
        for each in decisions
        if each.rule == JUSTIFIED or not each.in_scope
    ]
