"""What "same" and "similar" mean, and which texts belong together: chosen in `language.py`, applied in `aggregates.py`.

Both are decided by the texts alone: the order in which they come changes nothing, and a text that is added can only
join groups, never part them.

`similar` works in words. What varies from one occurrence of an error to the next is left out (see `normalize.py`); two
texts are then together if the words that remain are the same, but for endings and slips of the pen, or if they differ
at one place only and that place is seen to hold anything, because five different words occur there. So `user root` and
`user guest` are together, while `opened` and `closed` stay apart.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from liza.rules.normalize import (
    ANYTHING,
    LONGEST,
    NAME,
    SETTING,
    WHOLE,
    Template,
    forms,
    ignores_digits,
    same_word,
    skeletons,
    template,
)
from liza.rules.same import same_key
from liza.rules.time_limit import unlimited

_MANY = 5  # different words at one place that show the place to hold anything
_NAMES = 2  # the same for names out of code; a text that begins with one may be about it
_FEWEST = 3  # words that a text must have for one of its places to count as such
_CROWD = 200  # words that have a form in common: more are made up to cost us time
_VOLUME = 320_000  # characters of different texts that are looked at word by word: enough for 3,000 errors
_AT_ONCE = 200  # texts
_LEAST = 80  # characters that any text counts for, however short
_LOOSE = 0.8  # up to this similarity, forms of a word are the same word


def ignores_endings(similarity: float) -> bool:
    """Whether `failed` and `failure` are the same word, as they are up to a moderate similarity."""
    return similarity <= _LOOSE


class Grouper:
    """Texts and their groups. What a group is follows from all texts that were added, in whatever order."""

    def __init__(self, similarity: float = 0.7) -> None:
        self.similarity = similarity
        self._parent: list[int] = []
        self._numbers: dict[Template, int] = {}
        # Of texts that differ in digits alone one is looked at closely, unless (None) their digits may say something.
        self._skeletons: dict[str, int | None] = {}
        # For each template with one place taken out (as a hash: the words themselves would fill the memory) the words
        # that were seen there, with the template of each. Most have only ever seen one.
        self._places: dict[int, tuple[str, int] | dict[str, int]] = {}
        self._near: dict[tuple[int, str], list[tuple[str, int]]] = {}
        self._looked_at = 0  # characters
        self.coarse = 0  # texts that were compared for equality only, because there is too much text

    def add(self, text: str) -> int:
        """Take a text in; a number to ask `group` about it with, as long as no further text is added."""
        return next(self.add_all([text]))

    def add_all(self, texts: Sequence[str], spend: Callable[[], None] = unlimited) -> Iterator[int]:
        """`add` for each text, in less time."""
        for start in range(0, len(texts), _AT_ONCE):
            spend()
            some = [text[:LONGEST] for text in texts[start : start + _AT_ONCE]]
            self._looked_at += sum(map(len, some)) // 5
            outlines = skeletons(some) if self._looked_at <= _VOLUME else some
            for text, outline in zip(some, outlines, strict=True):
                known = self._skeletons.get(outline)  # of nearly all
                yield self._add(text, outline) if known is None else known

    def _add(self, text: str, outline: str) -> int:
        if self._looked_at > _VOLUME:
            self.coarse += 1
            return self._number(((f"{WHOLE}{same_key(text)}",), ()))
        self._looked_at += max(len(text), _LEAST) - len(text) // 5  # which is counted already
        found = template(text, stem=ignores_endings(self.similarity))
        if found not in self._numbers:
            self._enter(found)
        if outline not in self._skeletons:
            by_words = not found[0][0].startswith(WHOLE) if found[0] else True
            self._skeletons[outline] = self._numbers[found] if by_words and ignores_digits(outline) else None
        return self._numbers[found]

    def group(self, number: int) -> int:
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def _join(self, one: int, other: int) -> None:
        one, other = self.group(one), self.group(other)
        self._parent[max(one, other)] = min(one, other)

    def _number(self, found: Template) -> int:
        if found not in self._numbers:
            self._numbers[found] = len(self._parent)
            self._parent.append(len(self._parent))
        return self._numbers[found]

    def _enter(self, first: Template) -> None:
        pending = [first]
        while pending:
            words, identity = pending.pop()
            number = self._number((words, identity))
            for place, hashed in enumerate(_places(words, identity)):
                if words[place] == ANYTHING:
                    continue
                general = self._see(words[place], number, hashed, len(words) < _FEWEST, place)
                if general is not None:
                    found = (_collapsed((*words[:place], ANYTHING, *words[place + 1 :])), identity)
                    if found not in self._numbers:
                        pending.append(found)
                    general[ANYTHING] = self._number(found)
                    for its_number in list(general.values()):
                        self._join(general[ANYTHING], its_number)

    def _see(self, word: str, number: int, hashed: int, short: bool, place: int) -> dict[str, int] | None:
        """Take note of a word at a place; all words that were seen there if by now they show it to hold anything."""
        if short:
            self._see_in_short_text(word, number, hashed)
            return None
        seen = self._places.get(hashed)
        if seen is None:
            self._places[hashed] = (word, number)
            return None
        if isinstance(seen, tuple):
            seen = self._places[hashed] = {seen[0]: seen[1]}
        if ANYTHING in seen:
            self._join(seen[ANYTHING], number)
            return None
        for other, its_number in seen.items():
            if self._is_near(word, other):
                self._join(its_number, number)
        seen[word] = number
        names = sum(each.startswith((SETTING, NAME) if place else SETTING) for each in seen)
        return seen if len(seen) >= _MANY or names >= _NAMES else None

    def _see_in_short_text(self, word: str, number: int, hashed: int) -> None:
        """A text of a word or two: no number of others shows a place to hold anything, so any number may come."""
        for form in forms(word) if not word.startswith(WHOLE) else ():
            known = self._near.setdefault((hashed, form), [])
            self._looked_at += 5 * len(known)
            for other, its_number in known:
                if self._is_near(word, other):
                    self._join(its_number, number)
            if len(known) < _CROWD:
                known.append((word, number))

    def _is_near(self, one: str, other: str) -> bool:
        if not same_word(one, other):
            return False
        from rapidfuzz.distance import Levenshtein  # only for texts that differ in a single word

        return bool(Levenshtein.normalized_similarity(one, other) >= self.similarity)


def _places(words: tuple[str, ...], identity: tuple[str, ...]) -> Iterator[int]:
    """For each place the key of the template without that word."""
    behind = [hash(identity)]
    for word in reversed(words):
        behind.append(hash((behind[-1], word)))
    before = 0
    for place, word in enumerate(words):
        yield hash((place, before, behind[len(words) - place - 1]))
        before = hash((before, word))


def words_at_place(one: Template, other: Template, among: Iterable[Template]) -> tuple[int, int]:
    """Where two templates differ in one word: how many words are seen there, and how many it takes to hold anything."""
    place = next(i for i, (a, b) in enumerate(zip(one[0], other[0], strict=True)) if a != b)
    rest = (one[0][:place], one[0][place + 1 :], one[1])
    seen = {
        words[place]
        for words, identity in (one, other, *among)
        if len(words) == len(one[0]) and (words[:place], words[place + 1 :], identity) == rest
    }
    seen.discard(ANYTHING)
    return len(seen), _MANY if len(one[0]) >= _FEWEST else 0


def _collapsed(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(w for i, w in enumerate(words) if not (w == ANYTHING and i > 0 and words[i - 1] == ANYTHING))


def similar_groups(texts: Iterable[str], similarity: float) -> dict[str, int]:
    """For each text the number of its group: texts that say the same error have the same one."""
    grouper = Grouper(similarity)
    ordered = sorted(set(texts))
    numbers = dict(zip(ordered, grouper.add_all(ordered), strict=True))
    return {text: grouper.group(number) for text, number in numbers.items()}
