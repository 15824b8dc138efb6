"""The scope of a slice as it is written down: on the blackboard, in contracts, and in `GRAPH.json`."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused, Unreadable
from liza.model import MAPPINGS, one_or_several
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices import scope_lock as rules
from liza.scopes.slices.fields import find_test
from liza.scopes.slices.scope_lock import Decision, Entry, FileScope
from liza.store.files import open_regular
from liza.store.paths import Paths
from liza.text import shell_quoted, text_of, value_text

GRAPH, PAGE = "GRAPH.json", "CONTRACTS.md"
_FOLDERS = ("", ".greenlight", ".liza")  # in which both are looked for
_READABLE = (".md", ".txt", ".rst", ".adoc", ".yaml", ".yml", ".json")  # in which a contract may be written
MOST = 8 << 20  # bytes of a file that are read


class Roots(NamedTuple):
    root: str  # the folder that has the `.liza/`
    top: str  # of the working tree

    def path(self, file: str) -> str | None:
        """What a file really is in the working tree, links and all; None if it is not in there."""
        real, top = os.path.realpath(os.path.join(self.top, file)), os.path.realpath(self.top)
        if real != top and not real.startswith(top.rstrip("/") + "/"):
            return None
        return os.path.relpath(real, top)

    def places(self, file: str) -> list[str | None]:
        """The real path of a file; of a link also its own, because changing it changes that one."""
        above, name = os.path.split(file)
        if not os.path.islink(os.path.join(self.top, file)):
            return [self.path(file)]
        here = self.path(above)
        return [self.path(file), None if here is None else os.path.normpath(os.path.join(here, name))]


def find_roots(paths: Paths, record: Mapping[str, Any], top: str | None = None) -> Roots:
    root = paths.project
    about = record.get("checkpoint")
    given = about.get("work_tree") if isinstance(about, MAPPINGS) else None
    return Roots(root, top or os.path.normpath(os.path.join(root, given if isinstance(given, str) else ".")))


def read_scope(ground: Roots, name: str, record: Mapping[str, Any], graph: str | None = None) -> FileScope:
    """What a slice may change; `Unreadable` where that is written, and cannot be understood."""
    if record.get(rules.LISTED) is not None:
        if not isinstance(record[rules.LISTED], list):
            hint = f"write files_in_scope of slice {name} as a list; [] if nothing may be changed"
            raise Unreadable(f"files_in_scope is {value_text(record[rules.LISTED])}, which is not a list", hint=hint)
        return FileScope(tuple(_paths(ground, rules.paths_of(record[rules.LISTED]), rules.LISTED)))
    notes: list[str] = []
    file = _find(ground, GRAPH, graph)
    planned = _planned(file, name, notes) if file is not None else {}
    contracts = [*one_or_several(record.get("contracts")), *one_or_several(planned.get("contracts"))]
    inferred = [
        *_contracts(ground, contracts, file, notes),
        *_packages(ground, rules.paths_of(planned.get("packages"))),
        *_paths(ground, rules.paths_of(planned.get("deliverables")), rules.DELIVERABLES),
    ]
    return FileScope(None, tuple(inferred), tuple(notes))


def decide_files(ground: Roots, scope: FileScope, record: Mapping[str, Any], files: Sequence[str]) -> list[Decision]:
    why = rules.justifications(record)
    return [
        min(
            (rules.decide_file(scope, file, place, why) for place in ground.places(file)),
            key=lambda each: each.in_scope,
        )
        for file in files
    ]


def find_violations(paths: Paths, name: str, record: Mapping[str, Any], test: str) -> tuple[list[dict[str, str]], str]:
    """The files outside the scope for a report; and the reason where there are none."""
    ground = find_roots(paths, record)
    try:
        scope = read_scope(ground, name, record)
    except LizaError as error:
        return [], f"the allowed files could not be read: {error.message}"
    if not scope.is_known:
        return [], "no allowed files are known: neither files_in_scope nor contracts nor GRAPH.json name any"
    about = find_test(record, test)
    found = [each.get("file") for each in mappings_of(record, "scope_violations")]
    entries = [each for each in mappings_of(record, "attempts") if each.get("test") == test]
    touched = [
        *list_of(about, "files_touched"),
        *(file for entry in entries for file in list_of(entry, "files")),
    ]
    files = [text_of(each) for each in dict.fromkeys(map(text_of, [*touched, *found]))]
    return rules.violation_fields(decide_files(ground, scope, record, files)), "no change outside the scope is known"


# --- from what is written to entries --------------------------------------------------------------------------------


def _paths(ground: Roots, listed: Sequence[str], rule: str) -> Iterator[Entry]:
    for text in listed:
        path = rules.strip_note(text)
        pattern = rules.compile_pattern(path)
        if pattern is not None:
            yield Entry(text, rule, (), pattern)
            continue
        places = [place for each in dict.fromkeys((path, text)) for place in ground.places(each)]
        yield Entry(text, rule, tuple(each for each in places if each is not None))


def _packages(ground: Roots, listed: Sequence[str], rule: str = rules.PACKAGES) -> Iterator[Entry]:
    module = _module(ground)
    for text in listed:
        path = rules.strip_note(text)
        entry = next(_paths(ground, [text], rule))
        if entry.pattern is None and not os.path.lexists(os.path.join(ground.top, path)):
            places, inside = rules.package_paths(path, module)
            more = [found for each in places if (found := ground.path(each)) is not None]
            entry = entry._replace(paths=(*entry.paths, *more), inside=inside)
        yield entry


def _module(ground: Roots) -> str | None:
    """The name of the Go module, with which its packages are called."""
    path = os.path.join(ground.top, "go.mod")
    with suppress(OSError), open(path, encoding="utf-8", errors="replace", opener=open_regular) as file:
        found = re.search(r"^module\s+(\S+)", file.read(1 << 16), re.MULTILINE)
        return found[1].strip('"') if found else None
    return None


def _contracts(ground: Roots, contracts: Sequence[Any], graph: str | None, notes: list[str]) -> Iterator[Entry]:
    if not contracts:
        return
    place = os.path.join(os.path.dirname(graph), PAGE) if graph is not None else None
    page = place if place is not None and os.path.exists(place) else _find(ground, PAGE, None)
    document = _read(page) if page is not None else ""
    for contract in contracts:
        name, text = _contract(ground, contract, document)
        if text is None:
            notes.append(f"the contract {value_text(name)} is not in {PAGE}")
            continue
        files, packages = rules.find_references(text)
        for entry in _paths(ground, files, rules.CONTRACTS):
            yield entry._replace(text=f"{entry.text} in {name}")
        for entry in _packages(ground, packages, rules.CONTRACTS):
            yield entry._replace(text=f"{entry.text} in {name}")


def _contract(ground: Roots, contract: Any, document: str) -> tuple[str, str | None]:
    """The name of a contract and its text: itself, a file, or a section of the page of contracts."""
    if isinstance(contract, MAPPINGS):
        name = text_of(contract.get("id") or contract.get("name") or "a contract")
        own = "\n".join(f"`{text}`\n{text}" for text in _texts(contract))
        return name, f"{own}\n{rules.find_section(document, name) or ''}"
    name = text_of(contract).strip()
    path = os.path.join(ground.root, name)
    if name.endswith(_READABLE) and os.path.isfile(path):
        return name, _read(path)
    if any(char.isspace() for char in name) or "/" in name:
        return name[:60], f"`{name}`" if " " not in name else name
    return name, rules.find_section(document, name)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, MAPPINGS):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


# --- GRAPH.json -----------------------------------------------------------------------------------------------------


def _find(ground: Roots, name: str, given: str | None) -> str | None:
    if given is not None:
        if not os.path.isfile(given):
            raise Refused(f"there is no file {given}", hint=f"name the {name} of the project with --graph")
        return given
    for folder in dict.fromkeys((ground.root, ground.top)):
        for inside in _FOLDERS:
            path = os.path.join(folder, inside, name)
            if os.path.isfile(path):
                return path
    return None


def _planned(file: str, name: str, notes: list[str]) -> Mapping[str, Any]:
    try:
        data = json.loads(_read(file))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        hint = "correct that line: until then the allowed files are unknown"
        raise Unreadable(f"not valid JSON: {error}", hint=hint, file=file, line=line) from None
    slices = data.get("slices", data) if isinstance(data, dict) else data
    if isinstance(slices, dict):
        found = slices.get(name)
    elif isinstance(slices, list):
        keys = ("id", "slice_id", "name")
        found = next((each for each in slices if isinstance(each, dict) and name in map(each.get, keys)), None)
    else:
        hint = f'write them as {{"slices": {{{json.dumps(name)}: {{"packages": [], "deliverables": []}}}}}}'
        raise Unreadable("its slices are neither a list nor a mapping", hint=hint, file=file)
    if not isinstance(found, dict):
        notes.append(f"{os.path.basename(file)} has no slice {value_text(name)}")
        return {}
    return found


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8-sig", errors="replace", opener=open_regular) as opened:
            return opened.read(MOST)
    except OSError as error:
        hint = f"see: ls -la {shell_quoted(file)}"
        raise Unreadable(f"cannot be read: {error.strerror}", hint=hint, file=file) from None
