"""What "same" and "similar" mean, and which texts belong together: chosen in `language.py`, applied in `aggregates.py`.

Both are decided by the texts alone: the order in which they come changes nothing, and a text that is added can only
join groups, never part them.

`similar` works in words. What varies in any text is left out (see `normalize.py`); two texts are then together if the
words that remain are the same, but for a slip of the pen. What else varies is seen from all texts at hand:
- If texts differ at one place only, and five different words occur there, the place holds anything. So `opened` and
  `closed` stay apart.
- A place for values (`user=root`) holds anything once five were seen there, whatever is at other such places.
- What is behind a colon is free text once twenty endings were seen there, if enough words are before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from liza.rules.groups import Groups
from liza.rules.normalize import ANYTHING, LONGEST, VALUE, WHOLE, ignores_digits, same_word, skeletons, template
from liza.rules.same import same_key
from liza.rules.time_limit import unlimited

MANY = 5  # different words at one place that show the place to hold anything
MANY_ENDINGS = 20
FEWEST = 3  # words that a text must have for one of its places to count as such
_VOLUME = 320_000  # characters of different texts that are looked at word by word: enough for 3,000 errors
_AT_ONCE = 200  # texts
_LEAST = 80  # characters that any text counts for, however short

Words = tuple[str, ...]


class Grouper(Groups):
    """Texts and their groups. What a group is follows from all texts that were added, in whatever order."""

    def __init__(self, similarity: float = 0.7) -> None:
        super().__init__()
        self.is_loose = similarity <= 0.8  # so that `failed` and `failure` are the same word
        self._numbers: dict[tuple[Words, Words], int] = {}
        # Of texts that differ in digits alone one is looked at closely, unless (None) their digits may say something.
        self._skeletons: dict[str, int | None] = {}
        # For each template with one place taken out (as a hash: the words themselves would fill the memory) the words
        # that were seen there, with the template of each. Most have only ever seen one.
        self._places: dict[int, tuple[str, int] | dict[str, int]] = {}
        # For each template without its values those seen at each place (None: anything), and the templates.
        self._frames: dict[int, tuple[list[set[str] | None], dict[Words, int]]] = {}
        self._endings: dict[int, set[int]] = {}  # for the beginning of a text up to a colon the templates that have it
        self._looked_at = 0  # characters

    def add(self, text: str) -> int:
        """Take a text in; a number to ask `group` about it with, as long as no further text is added."""
        return next(self.add_all([text]))

    def add_all(self, texts: Sequence[str], spend: Callable[[], None] = unlimited) -> Iterator[int]:
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
            return self._number((f"{WHOLE}{same_key(text)}",), ())
        self._looked_at += max(len(text), _LEAST) - len(text) // 5  # which is counted already
        words, identity, raws = template(text, self.is_loose)
        if (words, identity) not in self._numbers:
            self._see_all(words, identity)
        if raws:
            self._see_values(words, identity, iter(raws))
        number = self._numbers[words, identity]
        if outline not in self._skeletons:
            by_words = not words[0].startswith(WHOLE)
            self._skeletons[outline] = number if by_words and ignores_digits(outline) else None
        return number

    def _number(self, words: Words, identity: Words) -> int:
        if (words, identity) not in self._numbers:
            self._numbers[words, identity] = self.enter()
        return self._numbers[words, identity]

    def _see_all(self, first: Words, identity: Words) -> None:
        pending = [first]
        while pending:
            words = pending.pop()
            number = self._number(words, identity)
            for place, hashed in enumerate(_places(words, identity)):
                if words[place][0] in (ANYTHING, VALUE) or len(words) < FEWEST:
                    continue
                general = self._see(words[place], number, hashed)
                if general is not None:
                    found = _collapsed((*words[:place], ANYTHING, *words[place + 1 :]))
                    if (found, identity) not in self._numbers:
                        pending.append(found)
                    general[ANYTHING] = self._number(found, identity)
                    for its_number in list(general.values()):
                        self.join(general[ANYTHING], its_number)
            self._see_ending(words, identity, number)
            if any(word[0] in (ANYTHING, VALUE) for word in words):
                self._see_values(words, identity, iter(()))

    def _see(self, word: str, number: int, hashed: int) -> dict[str, int] | None:
        """Take note of a word at a place; all words that were seen there if by now they show it to hold anything."""
        seen = self._places.get(hashed)
        if seen is None:
            self._places[hashed] = (word, number)
            return None
        if isinstance(seen, tuple):
            seen = self._places[hashed] = {seen[0]: seen[1]}
        if ANYTHING in seen:
            self.join(seen[ANYTHING], number)
            return None
        for other, its_number in seen.items():
            if self.is_loose and same_word(word, other):
                self.join(its_number, number)
        seen[word] = number
        return seen if len(seen) >= MANY else None

    def _see_values(self, words: Words, identity: Words, raws: Iterator[str]) -> None:
        """Take note of the values in a template; without `raws`, of those that the words themselves show."""
        frame = tuple(ANYTHING if word[0] == VALUE else word for word in words)
        values = tuple(word for word in words if word[0] in (ANYTHING, VALUE))
        seen, members = self._frames.setdefault(hash((frame, identity)), ([set() for _ in values], {}))
        self.join(members.setdefault(values, self._numbers[words, identity]), self._numbers[words, identity])
        opened = False
        for place, value in enumerate(values):
            raw = next(raws, None) if value[0] == VALUE else value
            known = seen[place]
            if known is not None and raw is not None and len(words) >= FEWEST:
                known.add(raw)
                if len(known) >= MANY:
                    seen[place], opened = None, True
        for these, number in list(members.items()) if opened else [(values, members[values])]:
            pairs = zip(seen, these, strict=True)
            general = tuple(ANYTHING if known is None or value == VALUE + ANYTHING else value for known, value in pairs)
            self.join(members.setdefault(general, number), number)

    def _see_ending(self, words: Words, identity: Words, number: int) -> None:
        for end, word in enumerate(words[:-1]):
            if word == ":" and sum(map(str.isalpha, words[:end])) >= FEWEST:
                seen = self._endings.setdefault(hash((words[:end], identity)), set())
                if len(seen) < MANY_ENDINGS:
                    seen.add(number)
                if len(seen) >= MANY_ENDINGS:
                    for its_number in seen:
                        self.join(number, its_number)
                return


def _places(words: Words, identity: Words) -> Iterator[int]:
    """For each place the key of the template without that word."""
    behind = [hash(identity)]
    for word in reversed(words):
        behind.append(hash((behind[-1], word)))
    before = 0
    for place, word in enumerate(words):
        yield hash((place, before, behind[len(words) - place - 1]))
        before = hash((before, word))


def _collapsed(words: Words) -> Words:
    return tuple(w for i, w in enumerate(words) if not (w == ANYTHING and i > 0 and words[i - 1] == ANYTHING))


def similar_groups(texts: Iterable[str], similarity: float) -> dict[str, int]:
    """For each text the number of its group: texts that say the same error have the same one."""
    grouper = Grouper(similarity)
    ordered = sorted(set(texts))
    numbers = dict(zip(ordered, grouper.add_all(ordered), strict=True))
    return {text: grouper.group(number) for text, number in numbers.items()}
