"""Reading the shipped packs and the blackboard's own `rules.yaml`."""

import os

import liza.rules
from liza.blackboard.document import Document, Path, parse
from liza.blackboard.reader import BOM
from liza.blackboard.versions import read
from liza.errors import Unreadable
from liza.model import Problem
from liza.rules.evaluate import RuleSet
from liza.rules.load import BadRules, Source, load

PACKS = ("systemic", "alarms", "loops", "disputes", "attempts")


def read_rules(
    own: str | None, *, protocol: str | None = None, must_exist: bool = False, config: str | None = None
) -> RuleSet:
    """The rules in force for a blackboard; `Unreadable` with all that is wrong with them.

    Who judges by one `protocol` alone is spared the packs of the others, unless `own` has something to say about rules.
    `config` is a file whose blocks for loops take the place of those in `own`.
    """
    folder = os.path.join(os.path.dirname(liza.rules.__file__), "packs")
    try:
        mine = _source(own) if own is not None and (must_exist or os.path.lexists(own)) else None
        packs = PACKS if protocol is None or (mine is not None and "rules" in mine.data) else (protocol,)
        sources = [_source(os.path.join(folder, f"{name}.yaml")) for name in packs]
        rules = load(sources, mine)
        if config is None:
            return rules
        blocks = load(sources, _source(config)).blocks
        return rules._replace(blocks=blocks)
    except BadRules as error:
        first = error.problems[0]
        raise Unreadable(
            first.message,
            hint=first.hint,
            file=first.file,
            line=first.line,
            column=first.column,
            problems=error.problems,
        ) from None


def notify_problems(own: str) -> tuple[Problem, ...]:
    """What is wrong with `notify:` in a file of rules that can be read otherwise.

    It keeps no rule from being judged, so it is no error of the rules; but people would wait for messages in vain.
    """
    from liza.blackboard.snapshot import located
    from liza.notify.targets import targets

    data = _source(own).data if os.path.lexists(own) else {}
    if not data.get("notify"):
        return ()
    _, faults = targets(data["notify"], None, os.path.dirname(os.path.dirname(os.path.abspath(own))))
    return located(parse(read(own).raw, own), faults)


def _source(file: str) -> Source:
    try:
        raw = read(file).raw
    except Unreadable as error:
        error.hint = "name a file of rules; see docs/rules.md for how one is written"
        raise
    lines = (line.strip() for line in raw.removeprefix(BOM).splitlines())
    if all(not line or line.startswith(b"#") or line == b"---" for line in lines):
        return Source(file, {}, lambda path, offset: (None, None))  # everything commented out, as it comes
    try:
        document = parse(raw, file)
    except Unreadable as error:
        error.hint = f"correct that line, then run: liza rules check {file}"
        if error.line is None:
            error.hint = "a file of rules holds keys like 'rules:' at the start of a line; see docs/rules.md"
        raise
    return Source(file, document.data, lambda path, offset: _locate(document, path, offset))


def _locate(document: Document, path: Path, offset: int | None) -> tuple[int | None, int | None]:
    if offset is not None:
        return document.locate_inside(path, offset)
    return document.locate(path) or (None, None)
