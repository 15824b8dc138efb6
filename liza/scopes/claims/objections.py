"""The objections of a round, and which of them are the same from one round to the next.

Two objections are the same by their ids, or else by their words, or by the answer that they get again, in whatever
words the next round is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import MAPPINGS, list_in
from liza.rules.same import same_key
from liza.rules.similar import similar_groups
from liza.text import text_of

SIMILARITY = 0.7
SHORTEST = 20  # characters of an answer by which an objection is known
ID, SAME, SIMILAR, RESPONSE = SAME_BY = ("id", "same", "similar", "response")  # the surest first
_CRITERIA = {ID: "their ids", SAME: "the same words", SIMILAR: "similar words", RESPONSE: "the same answer to both"}


class Objection(NamedTuple):
    """What a reviewer objects to a claim, and what the researcher answers; both as they were written."""

    text: str
    response: str | None = None
    id: str | None = None


def criterion_text(same_by: Any) -> str:
    """By what two objections were recognised as the same one, as people read it; an unknown criterion as it is."""
    return f"objections compared by: {_CRITERIA.get(text_of(same_by), text_of(same_by))}"


def objections_of(entry: Mapping[str, Any]) -> tuple[Objection, ...]:
    """The objections of a round, with the response to each: `objection` where there is one, `objections` for several.

    One without a word and without an id is none.
    """
    found = list(_listed(entry.get("objections")))
    texts, answers = (_each(entry.get(name)) for name in ("objection", "response"))
    ids = _each(entry.get("objection_id"))
    for index in range(max(len(texts), len(ids))):
        text, answer, label = (each[index] if index < len(each) else None for each in (texts, answers, ids))
        found.append(Objection(_text(text), None if answer is None else text_of(answer), _text(label).strip() or None))
    return tuple(each for each in found if each.text.strip() or each.id)


def _listed(value: Any) -> Iterator[Objection]:
    for each in list_in(value):
        if isinstance(each, MAPPINGS):
            text = each.get("objection") if each.get("objection") is not None else each.get("text")
            answer = each.get("response")
            label = _text(each.get("id")).strip() or None
            yield Objection(_text(text), None if answer is None else text_of(answer), label)
        elif each is not None and not isinstance(each, list | tuple):
            yield Objection(text_of(each))


def _each(value: Any) -> Sequence[Any]:
    """A value, or each of several; a mapping has no text to compare."""
    if isinstance(value, list | tuple):
        return [each for each in value if not isinstance(each, MAPPINGS)]
    return () if value is None or isinstance(value, MAPPINGS) else (value,)


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, MAPPINGS) else text_of(value)


def identify(objections: Sequence[Objection], matching: str) -> dict[Objection, str]:
    """What each objection is called among all of a claim: two have the same name if they are the same objection.

    An id is what counts where there is one. One without an id is taken for that of which it repeats the words.
    """
    groups = _groups([each.text for each in objections if each.text.strip()], matching)
    ids: dict[Any, set[str]] = {}  # of each text that has an id
    first: dict[Any, str] = {}  # the words of its first occurrence
    for each in objections:
        if each.id is not None:
            first.setdefault(("id", same_key(each.id)), f"{each.id}: {each.text}" if each.text.strip() else each.id)
            if each.text.strip():
                ids.setdefault(groups[each.text], set()).add(same_key(each.id))
        else:
            first.setdefault(("text", groups[each.text]), each.text)
    names: dict[Objection, str] = {}
    for each in objections:
        if each.id is not None:
            names[each] = first["id", same_key(each.id)]
            continue
        known = ids.get(groups[each.text], set())
        names[each] = first["id", next(iter(known))] if len(known) == 1 else first["text", groups[each.text]]
    return names


class Link(NamedTuple):
    """What an objection is called, and by what it is the same as one of the round before; empty if it is new."""

    name: str
    by: str = ""


def link_objections(
    entries: Sequence[Mapping[str, Any]], objections: Sequence[Sequence[Objection]], changed: Sequence[bool],
    matching: str, by_response: bool,
) -> list[list[Link]]:  # fmt: skip
    """What every objection of every round is called: the same name in two rounds in a row is the same objection.

    Besides its id and its words an objection may be known by its answer: the same reviewer objects again, nothing has
    changed, and the researcher answers what was answered before. That holds from one round to the next only, so that
    two objections that once got one answer do not stay one for good.
    """
    names = identify([each for some in objections for each in some], matching)
    answers = _answers(objections) if by_response else {}
    found: list[list[Link]] = []
    for index, some in enumerate(objections):
        before = list(zip(objections[index - 1], found[-1], strict=True)) if found else []
        is_again = bool(found) and not changed[index] and _reviewer(entries[index]) == _reviewer(entries[index - 1])
        links: list[Link] = []
        for each in some:
            same = [(other, link) for other, link in before if names[other] == names[each]]
            answered = [link for other, link in before if is_again and _is_answered_alike(each, other, answers)]
            if same:
                links.append(Link(same[0][1].name, _same_by(each, same[0][0])))
            else:
                links.append(Link(answered[0].name, RESPONSE) if answered else Link(names[each]))
        found.append(links)
    return found


def _same_by(one: Objection, other: Objection) -> str:
    if one.id is not None and other.id is not None:
        return ID
    return SAME if same_key(one.text) == same_key(other.text) else SIMILAR


def _reviewer(entry: Mapping[str, Any]) -> str:
    """Who objects; rounds without a name are those of one reviewer, as the protocol has one."""
    return same_key(_text(entry.get("reviewer")))


def _answers(objections: Sequence[Sequence[Objection]]) -> Mapping[str, Any]:
    """The group of each answer that is long enough to mean something: "done" answers anything."""
    texts = [each.response for some in objections for each in some if each.response is not None]
    return similar_groups([text for text in texts if len(" ".join(text.split())) >= SHORTEST], SIMILARITY)


def _is_answered_alike(one: Objection, other: Objection, answers: Mapping[str, Any]) -> bool:
    """Whether two objections got the same answer, and their ids do not differ."""
    if one.id is not None and other.id is not None:
        return False
    text, earlier = one.response, other.response
    if text is None or earlier is None or text not in answers or earlier not in answers:
        return False
    return bool(answers[text] == answers[earlier]) or same_key(text) == same_key(earlier)


def _groups(texts: Sequence[str], matching: str) -> Mapping[str, Any]:
    if matching == "exact":
        return {text: text for text in texts}
    if matching == "similar":
        return similar_groups(texts, SIMILARITY)
    return {text: same_key(text) for text in texts}
