"""Why two texts are together, or what keeps them apart: for `rules explain`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from liza.rules.fields import grouper_of
from liza.rules.normalize import ANYTHING, VALUE, WHOLE, Template, template
from liza.rules.same import same_key
from liza.rules.similar import FEWEST, MANY, Grouper
from liza.rules.syntax_tree import Grouping
from liza.text import plural

MANY_GROUPS = 500  # groups whose texts are compared with each other
NEAR = 0.5  # from this similarity on, two texts that are apart are worth a word
_FEW = 3  # words that differ which are named


class Comparison(NamedTuple):
    """Two texts, and why they are together or apart."""

    one: str
    other: str
    together: bool
    similarity: float  # of what is left of them once their volatile parts are left out
    why: str


def near(groups: Sequence[Sequence[str]], grouping: Grouping) -> Iterator[Comparison]:
    """For each group, by its texts, the one that is most like it, with what keeps them apart; the most alike first."""
    everything = list(dict.fromkeys(text for texts in groups for text in texts))
    samples = list(dict.fromkeys(texts[0] for texts in groups[:MANY_GROUPS] if texts))
    plain = [_compared(text, grouping) for text in samples]
    together = _Together(everything, grouping)
    found: dict[frozenset[str], float] = {}
    for index, one in enumerate(samples):
        scores = process.extract(plain[index], plain, scorer=Levenshtein.normalized_similarity, limit=3)
        others = [(samples[at], score) for _, score, at in scores if at != index and not together(one, samples[at])]
        if others and others[0][1] >= NEAR:
            found[frozenset((one, others[0][0]))] = others[0][1]
    for pair, _ in sorted(found.items(), key=lambda item: -item[1]):
        one, other = sorted(pair)
        yield compare(one, other, grouping, everything, known=together)


class _Together:
    """Which of some texts are together; grouped once for all questions."""

    def __init__(self, texts: Sequence[str], grouping: Grouping) -> None:
        self.grouper = grouper_of(grouping)
        self.numbers = dict(zip(texts, self.grouper.add_all(texts), strict=True))

    def __call__(self, one: str, other: str) -> bool:
        return self.grouper.group(self.numbers[one]) == self.grouper.group(self.numbers[other])


def compare(
    one: str,
    other: str,
    grouping: Grouping,
    among: Sequence[str] = (),
    *,
    exact: bool = False,
    known: _Together | None = None,
) -> Comparison:
    """Why two texts are together or apart, by themselves and with other texts around them."""
    alike = similarity(one, other, grouping)
    if exact or grouping.similarity is None:
        together = one == other if exact else same_key(one) == same_key(other)
        rule = "compared for equality" if exact else "compared without case, white space and surrounding punctuation"
        return Comparison(one, other, together, alike, f"{'equal' if together else 'different'}: {rule}")
    alone = _Together((one, other), grouping)(one, other)
    together = alone or (known or _Together((one, other, *among), grouping))(one, other)
    if together and not alone and (grouping.letters or not _Pair(one, other, grouping.similarity, among).is_wild()):
        why = "grouped through other texts that match both"
    elif grouping.letters:
        why = f"letter by letter the similarity is {alike:.2f}, {grouping.similarity:g} is enough"
    else:
        pair = _Pair(one, other, grouping.similarity, among)
        why = pair.why_together(alone) if together else pair.why_apart()
    return Comparison(one, other, together, alike, why)


def similarity(one: str, other: str, grouping: Grouping) -> float:
    """How similar two texts are as they are compared, from 0 to 1."""
    return Levenshtein.normalized_similarity(_compared(one, grouping), _compared(other, grouping))


def _compared(text: str, grouping: Grouping) -> str:
    """A text, or what is left of it once its volatile parts are left out."""
    return text if grouping.letters else " ".join(template(text)[0])


class _Pair:
    """Two texts, word by word."""

    def __init__(self, one: str, other: str, similarity: float, among: Sequence[str]) -> None:
        stem = Grouper(similarity).is_loose
        self.first, self.second = template(one, stem), template(other, stem)
        self.among = [self.first, self.second, *(template(each, stem) for each in among)]
        # As they were written, not as they are compared; the places are the same.
        self.written = list(zip(template(one, stem=False)[0], template(other, stem=False)[0], strict=False))
        self.differing = [
            place for place, (a, b) in enumerate(zip(self.first[0], self.second[0], strict=False)) if a != b
        ]

    @property
    def pairs(self) -> str:
        named = [" / ".join(map(_bare, self.written[place])) for place in self.differing[:_FEW]]
        more = len(self.differing) - _FEW
        return ", ".join(named) + (f" and {more} more" if more > 0 else "")

    def is_wild(self) -> bool:
        """Whether the one place where they differ was seen to hold anything."""
        one_place = len(self.first[0]) == len(self.second[0]) and len(self.differing) == 1
        return one_place and len(self._variants(self.differing[0])) >= MANY

    def _variants(self, place: int) -> set[str]:
        """What is seen at a place in texts that are the same but for it."""
        rest = _without(self.first, place)
        variants = {each[0][place] for each in self.among if _without(each, place) == rest}
        return variants - {ANYTHING}

    def why_together(self, alone: bool) -> str:
        if not self.differing:
            common = " ".join("…" if a == ANYTHING else _bare(a) for a, _ in self.written)
            return f"without the variable parts, both are: {common or 'empty'}"
        if alone:
            return f"only these words differ, and they are one word: {self.pairs}"
        return f"this position is a wildcard, because other texts differ there, too: {self.pairs}"

    def why_apart(self) -> str:
        if self.first[1] != self.second[1]:
            mine, theirs = (", ".join(each) or "none" for each in (self.first[1], self.second[1]))
            return f"codes or numbers that identify the error differ: {mine} / {theirs}"
        if len(self.first[0]) != len(self.second[0]):
            counts = f"{plural(len(self.first[0]), 'word')} against {len(self.second[0])}"
            return f"{counts}, without numbers, units and filler words"
        if len(self.differing) > 1:
            return f"{len(self.differing)} words differ: {self.pairs}"
        place = self.differing[0]
        words = (self.first[0][place], self.second[0][place])
        if ANYTHING in words:
            word = next(each for each in self.written[place] if each != ANYTHING)
            return f"one has {_bare(word)} where the other has a number, a path or the like"
        if len(self.first[0]) < FEWEST and not words[0].startswith(VALUE):
            return f"one word differs: {self.pairs}; a text this short has too few other words to compare"
        variants = f"{plural(len(self._variants(place)), 'variant')} at this position, {MANY} would make it a wildcard"
        return f"one word differs: {self.pairs} ({variants})"


def _without(found: Template, place: int) -> tuple[object, ...]:
    words, identity, _ = found
    return words[:place], words[place + 1 :], identity


def _bare(word: str) -> str:
    return "anything" if word == ANYTHING else word.lstrip(VALUE + WHOLE)
