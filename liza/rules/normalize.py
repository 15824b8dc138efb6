"""The words of an error without what varies from one occurrence to the next.

What varies is known by its shape (ids, paths, times, names out of code), by quotes or by a word before it (`user ann`).
What says which error it is (a status, an exit code, E0308, ECONNREFUSED, the class of an exception) is kept apart, and
two texts must agree in it. All this depends on the one text alone; what only many texts show is found in `similar.py`.
"""

import errno
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

LONGEST = 1200  # characters of a text that are looked at: an error is named at its beginning
MOST = 60  # words of it that are kept
ANYTHING = "*"
WHOLE = "\x02"  # before a text that is compared as a whole
VALUE = "\x03"  # before what is at a place for values: user=root, (on battery), host:443

# The words, the numbers and codes among them that identify the error, and the values as they were written.
Template = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]

_SPACE = re.compile(r"[\s\0]+|\.{3,}")
# What a regular expression may have to try from each of its characters on: without a limit that costs the square of
# its length, or worse. Dividers say nothing, and of a long run (a path, a qualified name) its two ends say all.
_DIVIDER = re.compile(r"([^\w\s])\1{3,}")
_RUN = re.compile(r"[^\s,;(){}\[\]\"<>|]{97,}")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NEGATED = re.compile(r"\b(?:can't|cannot)\b|n't\b", re.IGNORECASE)
_EXITED = re.compile(r"\bexit(?:ed)?\s(?:with\s)?(?:exit\s)?(?:code|status)\b", re.IGNORECASE)

_UNITS = "[mµun]?s|sec(?:ond)?s?|min(?:ute)?s?|m|h(?:ou)?rs?|h|days?|d|[kmgt]?i?b|bytes?|%"
_PLAIN = r"""[^\s=:,;()\[\]{}"'<>|`‘’“”]+"""
# From the most particular on: a time before the numbers in it, a path before its words.
_TOKEN = re.compile(
    rf"""(?<!\S)(?!localhost)[a-z]{{4,}}(?!\S|\s\(v?\d)  # nearly all, so that they are passed over quickly
      | (?P<quoted>(?<![{{,\w])(?<![{{,]\s)(?P<mark>["'`])(?!\s|[\d.]+(?P=mark)|(?:GET|HEAD|POST|PUT|PATCH|DELETE)\b)
            (?:[^"'`\s]{{0,80}}|(?<!=["])(?<!:["])(?<!:\s["])[^"'`\s]{{1,40}}(?:\s[^"'`\s]{{1,40}}){{1,3}}|(?<=`)[^`]{{1,80}})
            (?:(?P=mark)|')(?!\w)
          | ‘[^’]{{1,80}}’ | “[^”]{{1,80}}” | (?<![\w>])<[a-z][^<>=]{{1,80}}>)
      | (?P<endpoint>[a-z][a-z0-9+.-]{{1,15}}://[^\s'")>\]]+
          | (?:\[[0-9a-f:.]*::?[0-9a-f:.]+\]|(?<![\w:])::(?:ffff:)?[\d.]+)(?::\d+)?
          | (?<![\w.])(?:localhost|\d{{1,3}}(?:\.\d{{1,3}}){{3}})(?::\d{{1,5}}\b)?(?!\w)
          | (?<![\w.])(?:[\w-]+\.)*[a-z][\w-]*[a-z]:\d{{1,5}}\b(?![\w:-]))
      | (?P<volatile>(?<!\w)(?:
            [0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}\b
          | \d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?:[t\ :]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?\b
          | \d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?)?\b(?!:)
          | (?:mon|tue|wed|thu|fri|sat|sun)\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+\d+\b
          | (?=[a-f:-]*\d)(?:[0-9a-f]{{1,4}}[:-]){{2,15}}(?::?[0-9a-f]{{1,4}})(?:\.\d)?(?![\w:-]|\.\w)
          | [<~+-]?\d+(?:[.,]\d+)*\s?(?:{_UNITS})(?!\w)
          | [\w.-]+[<>=~!]=[\d.]+ | [\w-]+\s\(v?\d+(?:\.\d+){{2}}\)
          | [\w.+-]{{1,64}}@[\w.-]+\b)
          | (?:(?<!\w)(?:[a-z]:|[~.]{{1,2}})|[\w.@-]+)?[\\/][\w.@+~$%-]+[\w.@+~$%\\/-]*(?:::?\w+)*(?!\w))
      | (?P<aside>(?<=[(\[])[a-z]+(?:,?\s[a-z]+){{0,7}}(?=[)\]]))
      | (?P<number>(?<![\w.])(?:0x[0-9a-f]+|-?\d+)(?!\w|\.\d))
      | (?P<word>{_PLAIN}(?:(?:::?|\#){_PLAIN})*)
      | (?P<sign>[=:(\[])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PORT = r"(?:[1-9]\d{0,2}|10[01]\d|102[0-3])"  # of a well-known service
# A number behind one of these words is what the error is, not where or when it happened.
_IDENTITY = re.compile(
    r"(?:(?:status|https?|code|exit|exited|errno|signal|rc|sqlstate)"
    r"(?:/\d(?:\.\d)?)?(?:[\s_:=\#(\[\"']|\b(?:code|status|error|is|was|of|with|signal)\b)*"
    r"|\b(?:error|err)[\s\#(]+|\bcurl:\s?\()(?:0x[0-9a-f]+|-?\d+)$"
    rf"|\bport[\s:=#]*{_PORT}$"
    r"|\b(?:got|gets|received|returned|returns|returning|respon(?:ded|ds|se)|answer(?:ed|s)|replied|failed:|but)"
    r"(?:\s(?:with|an?|was|is)\b|[\s:=])*[1-5]\d\d$",  # a status that is not called one
    re.IGNORECASE,
)
# `to db.internal:80`, but not `in file.py:80`; an address of numbers is a host wherever it is.
_SERVICE = re.compile(
    r"(?:(?<![\w.])[\d.]+|localhost|://[^/:]*|\b(?:to|with|host|server|connect|bind)[\s:=]+[\w.-]+)"
    rf"(:{_PORT})(?:[/?].*)?$",
    re.IGNORECASE,
)
_PORTED = re.compile(r"(?:\w+://)?[^/]*[^:/]:\d")
_CODE = re.compile(r"\b(?:[A-Z]{1,5}\d{3,6}|[A-Z]{2,6}-\d{3,6}|\d{2}[A-Z]\d{2})\b")  # E0308, ORA-00942
_EXCEPTION = re.compile(
    r"(?:[\w.]+\.)?([A-Z]\w*[a-z](?:Error|Exception|Failure|Warning|Interrupt)|(?<=exceptions\.)[A-Z]\w+)"
)
_ERRNO = frozenset(errno.errorcode.values()) | {"ENOTFOUND", "EAI_AGAIN", "ERESOLVE", "EJSONPARSE", "E2BIG"}
_ERROR_NAME = re.compile(r"(?:ERR|ER|EAI|SQLITE|CERT|SSL|WSAE|UNABLE)_[A-Z_]+")
# loadConfig, load_config, DATABASE_URL, db.rows, a::b, $HOME, @app/core, --flag
_NAME = re.compile(r"[a-z]+[A-Z]\w*|\w*_\w*|[\w-]+(?:(?:\.|::?|\\|#|\$)[\w@-]+)+|[$@-]\w[\w/-]*|--\w[\w-]*")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STOP_WORDS = _listed("a an the of on in at to for from by with and or is was be been are were as it its this that")
# The word behind one of these is the name of something.
_CUES = _listed(
    "account argument attribute branch called class collection column command component constant constraint container "
    "crate database dataset deployment enum exception field fixture flag function host identifier image import index "
    "interface job key label library method module named namespace option package parameter plugin pod project "
    "property queue reference relation role schema scope script secret service step struct symbol table target task "
    "thread tool topic trait type undefined used user value variable wheel bucket"
)
# Unless it is one of these, which say something about it.
_NO_NAMES = _STOP_WORDS | _listed(
    "accepts after all already also any because before broken but can corrupt could crashed denied did do does down "
    "drops during empty error errors exist exists failed fails failure found full had has have if into keeps may "
    "mismatch missing must name names never no not only out refused rejects returned returns should still than then "
    "timed timeout too unknown up values violates violation what when which while will without would"
)
_AT_THE_END = frozenset((ANYTHING, ":", "=", "(", "line", "column", "after", "attempt"))
_PREPOSITIONS = frozenset(("at", "by", "for", "from", "in", "of", "on", "to", "with"))
_NO_VALUES = _NO_NAMES | _AT_THE_END
_STATES = ("ed", "ing", "able", "ible")  # nor what is like `unavailable` or `dropped`
_SWITCHES = _listed("true false yes no on off null none")  # as in ready=true
_FEW = 2  # words beside which the name that a text begins with is what it is about


@lru_cache(maxsize=4_000)  # for repeated evaluation: the daemon, and rule tests
def template(text: str, stem: bool = True) -> Template:
    """The words of a text without its volatile parts, and the numbers and codes that make it the error it is."""
    words: list[str] = []
    identity: list[str] = []
    raws: list[str] = []
    leading = cue = last = ""  # the name that the text begins with; the word behind which a name is expected
    apart = False
    plain = _plain(text)
    for found in _TOKEN.finditer(plain):
        raw, kind, expected, cue = found[0], found.lastgroup or "word", cue, ""
        if kind == "sign" and raw in "([":
            apart, cue = True, expected  # 1033 bytes (1 kB) are two values, 1 h 3 min are one
            continue
        word, identifying = _read(found, kind, stem, expected, last)
        lower = raw.lower()
        if word or lower in _PREPOSITIONS:  # on a row is on row
            last = lower
        if kind == "word":
            if word == ANYTHING and not (words or leading) and not any(char.isdigit() or char == "." for char in raw):
                leading = raw
                continue
            if word != ANYTHING:
                cue = lower if lower in _CUES else expected if lower in ("for", "to") else ""
        elif raw == ":":
            cue = expected
        if identifying:
            identity += word.split() if kind == "aside" else [word]
        if word.startswith(VALUE):
            raws.append(lower)
        if word == ANYTHING and words[-1:] == [ANYTHING]:
            if not apart:
                continue
            words.append("(")
        apart = False
        if word:
            words.append(word)
            if len(words) >= MOST:
                break
    if leading and sum(word[0].isalpha() for word in words) <= (1 if leading.isupper() else _FEW):
        words.insert(0, leading.lower())
    kept = _trimmed(words)
    if not identity and _AT_THE_END.issuperset(kept):
        # Nothing but what varies: a bare path or number names no error, so it is similar to nothing but itself.
        return (f"{WHOLE}{' '.join(text[:LONGEST].split()).lower()}",), (), ()
    return kept, tuple(identity), tuple(raws)


def _plain(text: str) -> str:
    """The characters of a text that are looked at. Cut twice: normalising makes up to 18 of one."""
    plain = text[:LONGEST]
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain)[:LONGEST]
    plain = _DIVIDER.sub(r"\1\1\1", _SPACE.sub(" ", _ESCAPES.sub("", plain)).strip())
    plain = _RUN.sub(lambda found: found[0][:48] + found[0][-48:], plain)
    return _EXITED.sub("exit code", _NEGATED.sub(" not", plain))


def _read(found: re.Match[str], kind: str, stem: bool, cue: str, last: str) -> tuple[str, bool]:
    """A part of a text as it is compared (empty: not at all), and whether it identifies the error."""
    raw, start = found[0], found.start()
    if kind == "word":
        if cue and _is_name(raw, cue):
            return ANYTHING, False
        word, identifying = _word(raw, stem)
        is_last = last == ":" and found.string[found.end() : found.end() + 1] in ",;)]"
        is_value = is_last or last in _PREPOSITIONS or found.string[start - 1 : start] == "="
        if is_value and not identifying and word.replace("-", "").isalpha() and raw.lower() not in _NO_VALUES:
            word = ANYTHING if last == "=" and raw.lower() in _SWITCHES else VALUE + word
        return word, identifying
    if kind == "sign":
        return raw, False
    if kind == "aside" and not (cue and " " not in raw and _is_name(raw, cue)):
        words = [_word(each, stem) for each in raw.replace(",", "").split()]
        codes = " ".join(word for word, identifying in words if identifying)
        return (codes, True) if codes else (VALUE + " ".join(word for word, _ in words if word), False)
    until = found.string[max(start - 24, 0) : found.end()]
    if kind == "number" and _IDENTITY.search(until):
        return raw.lower(), True
    if kind == "endpoint" and start and _PORTED.match(raw):  # which a text begins with is who says it
        service = _SERVICE.search(until)
        return VALUE + (service[1] if service else ANYTHING), False
    return ANYTHING, False


def _is_name(raw: str, cue: str) -> bool:
    """Whether a word is the name of what the word before it says."""
    lower = raw.lower()
    if not raw[0].isalpha() or lower in _NO_NAMES or raw in _ERRNO:
        return False
    if lower in _CUES and lower != cue:  # symbol: class Money
        return False
    return not (len(raw) > 5 and raw.islower() and raw.endswith(_STATES))


@lru_cache(maxsize=10_000)
def _word(raw: str, stem: bool) -> tuple[str, bool]:
    bare = raw.strip(".!?*#").rstrip("-")
    word = bare.lower()
    if bare.isupper() and (_CODE.fullmatch(bare) or bare in _ERRNO or _ERROR_NAME.fullmatch(bare)):
        return word, True
    exception = _EXCEPTION.fullmatch(bare)
    if exception:
        return exception[1].lower(), True
    if len(raw) > 80 or any(char.isdigit() for char in raw) or _NAME.fullmatch(bare):
        return ANYTHING, False
    if word in _STOP_WORDS:
        return "", False
    return stemmed(word) if stem else word, False


def _trimmed(words: list[str]) -> tuple[str, ...]:
    """Without the places that stand before an error or behind it: `main.c:14:` and `at line 14`."""
    start, end = 0, len(words)
    while end - start > 1 and words[start] in _AT_THE_END:
        start += 1
    while end - start > 1 and words[end - 1] in _AT_THE_END:
        end -= 1
    return tuple(words[start:end])


_ENDINGS = (
    "ations", "ation", "ators", "ator", "ments", "ment", "ances", "ance", "ences", "ence", "able", "ible",
    "ions", "ion", "ures", "ure", "ers", "er", "ors", "or", "ies", "al", "ly", "ed", "es", "y", "e", "s",
)  # fmt: skip


def stemmed(word: str) -> str:
    """What serialize, serializer and serialisation have in common, or dropped and drops."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    word = word.replace("isat", "izat").replace("ise", "ize")
    for ending in _ENDINGS:
        least = 5 if len(ending) > 3 else 3 if ending == "s" else 4
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 4 and word[-1] == word[-2] and word[-1] in "bdgmnprt" else word
    return word


# Where digits may say what the error is, two texts that differ in digits alone may be different errors.
_TELLING = re.compile(
    r"(?i:status|http|code|exit|errno|signal|\brc|port|sqlstate|curl"
    r"|\berr(?:or)?[\s\#(]+0|(?:got|gets|received|return\w*|respon\w+|answer\w*|replied|failed:|but)(?:\s\w+){0,2}[\s:=]+0)"
    r"|:0|[A-Z]-?0|0[A-Z]0"
)
# A number by itself, where all digits are 0: no sign beside it that would make it a part of more. Replaced without a
# call for each, of which an agent's text may have hundreds. Led by the 0, which is quick to search for.
_ALONE = re.compile(r"0(?<![0a-zA-Z_.:/-]0)0*+(?![a-zA-Z_.:/-])")
_DIGITS = str.maketrans("123456789", "000000000")
_BETWEEN = "\0"  # texts, so that no number is beside another


def skeletons(texts: Sequence[str]) -> list[str]:
    """Each text with all its digits alike: one for a number by itself, however long, and one for each digit in more.

    All at once: most texts are short, and a call for each would take longer than the work.
    """
    joined = _BETWEEN.join(text.replace(_BETWEEN, " ") for text in texts)
    return _ALONE.sub("0", joined.translate(_DIGITS)).split(_BETWEEN) if texts else []


def ignores_digits(outline: str) -> bool:
    """Whether all texts with this skeleton have the same template."""
    return "0" not in outline or _TELLING.search(outline) is None


def same_word(one: str, other: str) -> bool:
    """Whether two words are one but for a slip of the pen: a letter too many, or two that changed places.

    Another letter makes another word, as in parsing and passing. `valid` and `invalid` are two.
    """
    if one[0] != other[0] or max(len(one), len(other)) < 6 or abs(len(one) - len(other)) > 1:
        return False
    from rapidfuzz.distance import OSA  # only for texts that differ in a single word

    return OSA.distance(one, other) == 1 and (len(one) != len(other) or sorted(one) == sorted(other))
