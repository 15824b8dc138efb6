"""What "same" and "similar" mean, and which texts belong together by them.

Both are decided by the texts alone: the order in which they come changes nothing, and a text that is added can only
join groups, never part them.

`similar` works in words. What varies from one occurrence of an error to the next (ids, paths, times, numbers) is left
out; two texts are then together if the words that remain are the same, but for endings and misspellings, or if they
differ at one place only and that place is seen to hold anything: four different words there, or names in quotes. So
`user root` and `user guest` come together once there are enough users, while `opened` and `closed` stay apart.
"""

import re
import unicodedata
from collections.abc import Iterable

_LONGEST = 600  # characters of a text that are compared: an error says what it is at its beginning
_MANY = 4  # different words at one place that show the place to hold anything
_NAMES = 2  # the same for names in quotes
_FEWEST = 3  # words that a text must have for one of its places to be judged so

_LOOSE = 0.8  # up to this similarity, forms of a word are the same word

ANYTHING = "*"

_SPACE = re.compile(r"\s+")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

# Volatile parts, in the order in which they are looked for: a time before the numbers in it, a path before its words.
_VOLATILE = re.compile(
    r"""(?P<url>[a-z][a-z0-9+.-]*://[^\s'")>\]]+)
      | (?P<uuid>\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b)
      | (?P<time>\b\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[t\ :]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?\b
          | \b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b
          | \b(?:mon|tue|wed|thu|fri|sat|sun)\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+\d+\b)
      | (?P<path>(?:\b[a-z]:)?(?:(?:[\\/]|(?<!\w)~/)[\w.@+~$%-]+|\b[\w.-]+[\\/][\w.@+~$%-]+[\\/.])[\w.@+~$%\\/-]*)
      | (?P<host>\b(?:[\w-]+\.){2,}[a-z_][\w-]*\b(?!\())
      | (?P<hex>\b0x[0-9a-f]+\b | \b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b)
      | (?P<amount>\b\d+(?:[.,]\d+)?\s?
          (?:[mµun]?s|secs?|seconds?|mins?|minutes?|m|hrs?|hours?|h|days?|d|[kmgt]i?b|bytes?)(?!\w))
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A number behind one of these words is what the error is, not where or when it happened.
_IDENTITY = re.compile(
    r"(?:status|https?|code|exit|exited|errno|signal|rc)"
    r"(?:/\d(?:\.\d)?)?(?:[\s_:=\#(\[\"']|\b(?:code|status|error|is|was|of|with|signal)\b)*$",
    re.IGNORECASE,
)
_PORT = re.compile(r"\bport[\s:=#]*$", re.IGNORECASE)
_CODE = re.compile(r"\b(?:[A-Z]{1,5}\d{3,6}|[A-Z]{2,6}-\d{3,6}|[A-Z]{3,6}\d{2})\b")  # E0308, TS2322, ORA-00942
_NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|-?\d+)(?!\w|\.\d)")
# `host:80`, but not `file.py:80`
_HOST = re.compile(
    r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[\w-]+(?:\.[\w-]+)*\."
    r"(?!(?:py|[jt]sx?|go|rs|java|cc?|cpp|h|hpp|rb|php|cs|kt|swift|scala|sh|html|css|json|ya?ml|toml|md|txt|log|sql):)"
    r"[a-z]{2,}):$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"""(?P<quote>["'`])(?P<name>[^"'`\s]{1,80})(?P=quote)|[^\s=:,;()\[\]{}"'<>|`]+|[=:]""")
_DIGITS = re.compile(r"\d+")
# Where digits may say what the error is: there each text is looked at for itself.
_TELLING = re.compile(r"(?i:status|http|code|exit|errno|signal|\brc|port)|:0|[A-Z]-?0")
_KEPT = "\x01"  # marks a number that must not be left out
_LOW_PORT = 1024

_STOP_WORDS = frozenset(
    ("a", "an", "the", "of", "on", "in", "at", "to", "for", "from", "by", "with", "and", "or", "is", "was", "be",
     "been", "are", "were", "as", "it", "its", "this", "that")
)  # fmt: skip


def same_key(text: str) -> str:
    """What two texts have in common that differ only in case, white space, width of letters or punctuation around.

    A text of signs alone is what it is.
    """
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(folded)
    while start < end and _is_sign(folded[start]):
        start += 1
    while end > start and _is_sign(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_sign(char: str) -> bool:
    return not char.isalnum() and unicodedata.category(char)[0] in "PZCS"


Template = tuple[tuple[str, ...], tuple[str, ...]]


def template(text: str, stem: bool = True) -> Template:
    """The words of a text without its volatile parts, and the numbers and codes that make it the error it is."""
    plain = unicodedata.normalize("NFKC", _ESCAPES.sub("", text[: 4 * _LONGEST]))
    plain = _SPACE.sub(" ", plain).strip()[:_LONGEST]
    identity: list[str] = []

    def keep(found: re.Match[str]) -> str:
        before = plain[max(found.start() - 24, 0) : found.start()]
        is_port = _PORT.search(before) or _HOST.search(before)
        low_port = is_port and found[0].isdecimal() and 0 < int(found[0]) < _LOW_PORT
        if _IDENTITY.search(before) or low_port:
            identity.append(found[0].lower())
            return found[0] + _KEPT
        return found[0]

    plain = _NUMBER.sub(keep, plain)
    plain = _VOLATILE.sub(lambda found: _leave_out(found, identity), plain)
    words: list[str] = []
    for found in _WORDS.finditer(plain):
        word = _word(found["name"] or found[0], identity, found["name"] is not None, stem)
        if word and not (word == ANYTHING and words[-1:] == [ANYTHING]):
            words.append(word)
    return tuple(words), tuple(identity)


def _leave_out(found: re.Match[str], identity: list[str]) -> str:
    """A volatile part goes, but not the port of a well-known service in it, nor a number that was to be kept."""
    port = re.search(r":(\d{1,4})(?:[/?]|$)", found[0]) if found.lastgroup in ("url", "host") else None
    if port and 0 < int(port[1]) < _LOW_PORT:
        identity.append(port[1])
    return found[0] if _KEPT in found[0] else f" {ANYTHING} "


def _word(raw: str, identity: list[str], quoted: bool, stem: bool) -> str:
    if raw.endswith(_KEPT):
        return raw[:-1].lower()
    if raw == ANYTHING:
        return ANYTHING
    bare = raw.strip(".!?-*#")
    if _CODE.fullmatch(bare):
        identity.append(bare.lower())
        return bare.lower()
    if any(char.isdigit() for char in raw):
        return ANYTHING
    if raw in "=:":
        return raw
    word = bare.lower()
    if word in _STOP_WORDS:
        return ""
    word = _stem(word) if stem else word
    return f"'{word}" if quoted else word  # the quote marks a name, see _NAMES


_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("ure", ""), ("es", "e"), ("s", ""))


def _stem(word: str) -> str:
    """The same word in another form: entity and entities, failed and failure."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith(("ss", "us", "is")):
            return word[: -len(ending)] + instead
    return word


class Grouper:
    """Texts and their groups. What a group is follows from all texts that were added, in whatever order."""

    def __init__(self, similarity: float = 0.7) -> None:
        self.similarity = similarity
        self._parent: list[int] = []
        self._numbers: dict[Template, int] = {}
        self._skeletons: dict[str, int] = {}  # of texts that differ in digits alone only one is looked at closely
        # For each template with one place taken out: the words that were seen there, with the template of each.
        self._places: dict[tuple[int, tuple[str, ...], tuple[str, ...]], dict[str, int]] = {}

    def add(self, text: str) -> int:
        """Take a text in; a number to ask `group` about it with, as long as no further text is added."""
        text = text[: 4 * _LONGEST]
        skeleton = _DIGITS.sub("0", text)
        if skeleton in self._skeletons:
            return self._skeletons[skeleton]
        found = template(text, stem=self.similarity <= _LOOSE)
        if found not in self._numbers:
            self._enter(found)
        if not _TELLING.search(skeleton):
            self._skeletons[skeleton] = self._numbers[found]
        return self._numbers[found]

    def group(self, number: int) -> int:
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def _join(self, one: int, other: int) -> None:
        one, other = self.group(one), self.group(other)
        self._parent[max(one, other)] = min(one, other)

    def _enter(self, first: Template) -> None:
        pending = [first]
        while pending:
            words, identity = pending.pop()
            number = self._number((words, identity))
            for place, word in enumerate(words):
                if word == ANYTHING:
                    continue
                rest = words[:place] + words[place + 1 :]
                seen = self._places.setdefault((place, rest, identity), {})
                if ANYTHING in seen:
                    self._join(seen[ANYTHING], number)
                    continue
                for other, its_number in seen.items():
                    if self._near(word, other):
                        self._join(its_number, number)
                seen[word] = number
                if len(words) >= _FEWEST and self._holds_anything(seen):
                    general = (_collapsed((*words[:place], ANYTHING, *words[place + 1 :])), identity)
                    if general not in self._numbers:
                        pending.append(general)
                    seen[ANYTHING] = self._number(general)
                    for its_number in list(seen.values()):
                        self._join(seen[ANYTHING], its_number)

    def _number(self, found: Template) -> int:
        if found not in self._numbers:
            self._numbers[found] = len(self._parent)
            self._parent.append(len(self._parent))
        return self._numbers[found]

    @staticmethod
    def _holds_anything(seen: dict[str, int]) -> bool:
        return len(seen) >= _MANY or sum(word.startswith("'") for word in seen) >= _NAMES

    def _near(self, one: str, other: str) -> bool:
        """Whether two words are the same but for an ending or a misspelling. `valid` and `invalid` are not."""
        if min(len(one), len(other)) < 4 or one[0] != other[0]:
            return False
        from rapidfuzz.distance import Levenshtein  # only for texts that differ in a single word

        return bool(Levenshtein.normalized_similarity(one, other) >= self.similarity)


def _collapsed(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(w for i, w in enumerate(words) if not (w == ANYTHING and i > 0 and words[i - 1] == ANYTHING))


def similar_groups(texts: Iterable[str], similarity: float) -> dict[str, int]:
    """For each text the number of its group: texts that say the same error have the same one."""
    grouper = Grouper(similarity)
    numbers = {text: grouper.add(text) for text in sorted(set(texts))}
    return {text: grouper.group(number) for text, number in numbers.items()}
