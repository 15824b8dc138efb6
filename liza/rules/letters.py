"""`similar(field, 0.7)`: texts as they are, together if their normalised Levenshtein similarity reaches the number.

A text that is similar to two others puts them together. Words that vary are not known here: see `similar.py` for that.
"""

from collections.abc import Callable, Iterator, Sequence

from liza.rules.groups import Groups
from liza.rules.time_limit import unlimited

LONGEST = 4_000  # characters: a longer text is compared for equality only
MOST = 5_000  # different texts that are compared with each other


class LetterGrouper(Groups):
    """Texts and their groups, like `Grouper`."""

    def __init__(self, similarity: float) -> None:
        super().__init__()
        self.similarity = similarity
        self._numbers: dict[str, int] = {}
        self._by_length: dict[int, dict[int, str]] = {}

    def add_all(self, texts: Sequence[str], spend: Callable[[], None] = unlimited) -> Iterator[int]:
        for text in texts:
            spend()
            if text not in self._numbers:
                self._numbers[text] = self.enter()
                if len(text) > LONGEST or len(self._numbers) > MOST:
                    self.coarse += 1
                else:
                    self._compare(text, self._numbers[text], spend)
            yield self._numbers[text]

    def _compare(self, text: str, number: int, spend: Callable[[], None]) -> None:
        from rapidfuzz.distance import Levenshtein  # loading these takes longer than most checks
        from rapidfuzz.process import extract

        least, alike = self.similarity, Levenshtein.normalized_similarity
        for length, others in self._by_length.items():
            # Of texts whose lengths differ more, too many letters differ.
            if min(length, len(text)) >= int(least * max(length, len(text))):
                spend()
                for _, _, near in extract(text, others, scorer=alike, score_cutoff=least, limit=None):
                    self.join(number, near)
        self._by_length.setdefault(len(text), {})[number] = text
