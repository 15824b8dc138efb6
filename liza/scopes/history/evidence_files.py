"""The evidence of a trip on the disk: in its history entry, or beside the archived report where there is very much.

What is in the file is what would be in the entry: for each rule one text of fingerprints. It is
evaluated as if it were in the entry.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from operator import is_
from typing import Any

from liza.rules.fingerprints import parse_evidence
from liza.scopes.history import section as sections
from liza.scopes.history.archives import archive_name
from liza.store import files, versions
from liza.store.board import Board

LISTED = 500  # fingerprints of a rule that are kept in the entry itself
_LARGEST = 1 << 27  # bytes; a million records have a tenth of that


def kept(board: Board, trigger: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The evidence for the history entry, once what is too long for it is in its file."""
    many = {rule: count for rule, text in texts.items() if (count := len(parse_evidence(text).prints)) > LISTED}
    if not many:
        return dict(texts)
    import json  # here: few trips have that many

    name = archive_name(trigger).removesuffix(".md") + ".evidence.json"
    try:
        files.make_folder(board.paths.reports)
        listed = json.dumps({rule: texts[rule] for rule in many}, indent=1, ensure_ascii=False)
        files.write_atomically(os.path.join(board.paths.reports, name), listed.encode(errors="surrogatepass"))
    except OSError:
        return dict(texts)  # a long entry is better than one that names a file that is not there
    file = f"{os.path.basename(board.paths.folder)}/{os.path.basename(board.paths.reports)}/{name}"
    return {rule: {"file": file, "records": many[rule]} if rule in many else text for rule, text in texts.items()}


def with_kept(board: Board, section: Any) -> Any:
    """The `circuit_breaker` section with all evidence in its entries. What is in no readable file stays a reference."""
    history = sections.history_of(section)
    listed = [whole(board, entry) for entry in history]
    return section if all(map(is_, listed, history)) else {**section, "history": listed}


def whole(board: Board, entry: Any) -> Any:
    texts = entry.get("evidence") if isinstance(entry, Mapping) else None
    if not isinstance(texts, Mapping) or not any(isinstance(each, Mapping) for each in texts.values()):
        return entry
    return {**entry, "evidence": {rule: _text(board, rule, each) for rule, each in texts.items()}}


def _text(board: Board, rule: Any, reference: Any) -> Any:
    if not isinstance(reference, Mapping):
        return reference
    # Any program may have written the name: the file is in that folder in any case.
    path = os.path.join(board.paths.reports, os.path.basename(str(reference.get("file"))))
    try:
        return _read(path, versions.identity(os.stat(path))).get(str(rule), reference)
    except (OSError, ValueError):
        return reference


@lru_cache(maxsize=16)
def _read(path: str, identity: versions.Identity) -> Mapping[str, str]:
    """The texts in a file; the daemon asks for them at every look, and they hardly ever change."""
    import json

    if identity.size > _LARGEST:
        raise ValueError("too large to be liza's")
    found = json.loads(files.read(path, _LARGEST))
    if not isinstance(found, dict):
        raise ValueError("not a mapping")
    return {rule: text for rule, text in found.items() if isinstance(text, str)}
