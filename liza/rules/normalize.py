"""The words of an error without what varies from one occurrence to the next.

Ids, paths, times, numbers and the names of things are left out; numbers and codes that say what the error is (a status,
an exit code, E0308, ECONNREFUSED, the class of an exception) are kept apart, because two errors that differ in one of
them are not the same, however alike the rest is. Everything here depends on the one text alone.
"""

import errno
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

LONGEST = 1200  # characters of a text that are looked at: an error is named at its beginning
MOST = 60  # words of it that are kept
LONG = 80  # characters: what is longer is not a word
NUMBERS = 30  # that are looked at to see whether they say what the error is
ANYTHING = "*"
WHOLE = "\x02"  # before a text that is compared as a whole
NAME, SETTING = "'", "$"  # before a word that is a name out of code, or that of a setting like DATABASE_URL

Template = tuple[tuple[str, ...], tuple[str, ...]]

_KEPT = "\x01"  # marks a number that must not be left out

_SPACE = re.compile(r"\s+|\.{3,}")
# What a regular expression may have to try from each of its characters on: without a limit that costs the square of
# its length, or worse. Dividers say nothing, and of a long run (a path, a qualified name) its two ends say all.
_DIVIDER = re.compile(r"([^\w\s])\1{3,}")
_RUN = re.compile(r"[^\s,;(){}\[\]\"<>|]{97,}")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

_EXTENSIONS = (
    "py|pyi|[jt]sx?|mjs|cjs|go|rs|java|cc?|cpp|cxx|hh?|hpp|rb|php|cs|kts?|swift|scala|sh|html|css|s[ac]ss|vue|json|ya?ml|"
    "toml|ini|cfg|conf|lock|md|txt|log|sql|xml|csv|tsv|o|so|dll|exe|jar|class|whl|tar|gz|zip|db|proto|env"
)
_DOMAINS = "com|org|net|io|edu|gov|dev|app|local|internal|localhost|test|example|uk|us|de|fr|nl|cn|hk|jp|eu"

# Volatile parts, in the order in which they are looked for: a time before the numbers in it, a path before its words.
# All but the first two begin a word, and nearly all hold more than letters: plain words are passed over quickly.
_VOLATILE = re.compile(
    rf"""(?P<quoted>(?P<mark>["'`])(?![\d.]+{_KEPT}?(?P=mark))[^"'`\s]{{1,80}}(?P=mark)(?!\s?:)
          | ‘[^’\s]{{1,80}}’ | “[^”\s]{{1,80}}” | `[^`'\s]{{1,80}}' | `[^`]{{1,80}}` | (?<==)"[^"]{{1,80}}")
      | (?P<slash>(?:[\\/]|(?<!\w)(?:~|\.{{1,2}})/)[\w.@+~$%-]+[\w.@+~$%\\/-]* | (?<![\w:])::ffff:(?=\d))
      | (?<!\w)(?:(?=[a-z_]*[^a-z_\s])(?:
            (?P<url>[a-z][a-z0-9+.-]{{1,15}}://[^\s'")>\]]+)
          | (?P<uuid>[0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}\b)
          | (?P<time>\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?:[t\ :]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?\b
              | \d{{1,2}}:\d\d:\d\d(?:[.,]\d+)?\b(?!:))
          | (?P<address>(?<!:)(?=[a-f:-]*\d)(?:[0-9a-f]{{1,4}}[:-]){{2,15}}(?::?[0-9a-f]{{1,4}})(?:\.\d)?(?![\w:-]))
          | (?P<package>(?<![./@])(?:[a-z_]\w*\.)+(?=(?-i:[A-Z])\w*(?:Error|Exception|Failure|Warning)\b))
          | (?P<path>(?:[a-z]:[\\/][\w.@+~$%-]+ | [\w.@-]+[\\/][\w.@+~$%-]+[\\/.])[\w.@+~$%\\/-]*)
          | (?P<mail>[\w.+-]{{1,64}}@[\w.-]+\b)
          | (?P<requirement>[\w.-]+==[\w.]+)
          | (?P<service>(?<=\bto\ )[a-z][\w-]*:\d{{4,5}}\b)
          | (?P<file>(?<![/.])[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})\b(?!\())
          | (?P<host>(?:[\w-]+\.){{2,}}[a-z_][\w-]*\b(?!\() | (?<![.-])[\w-]+\.(?:{_DOMAINS})\b(?!\.?\w|\())
          | (?P<hex>0x[0-9a-f]+\b | (?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,}}\b)
          | (?P<amount>\d+(?:[.,]\d+)?\s?
              (?:[mµun]?s|secs?|seconds?|mins?|minutes?|m|hrs?|hours?|h|days?|d|[kmgt]?i?b|bytes?)(?!\w))
        )
        | (?P<date>(?:mon|tue|wed|thu|fri|sat|sun)\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+\d+\b)
        | (?P<local>localhost\b(?!:\d{{1,3}}\b))
      )
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A number behind one of these words is what the error is, not where or when it happened.
_IDENTITY = re.compile(
    r"(?:(?:status|https?|code|exit|exited|errno|signal|rc|sqlstate)"
    r"(?:/\d(?:\.\d)?)?(?:[\s_:=\#(\[\"']|\b(?:code|status|error|is|was|of|with|signal)\b)*"
    r"|\b(?:error|err)[\s\#(]+|\bcurl:\s?\()$",
    re.IGNORECASE,
)
# A status that is not called one.
_ANSWERED = re.compile(
    r"\b(?:got|gets|received|returned|returns|returning|respon(?:ded|ds|se)|answer(?:ed|s)|replied|failed:|but)"
    r"(?:\s(?:with|an?|was|is)\b|[\s:=])*$",
    re.IGNORECASE,
)
_STATUS = re.compile(r"[1-5]\d\d")
_PORT = re.compile(r"\bport[\s:=#]*$", re.IGNORECASE)
_URL_PORT = re.compile(r"://[^/:@]*:(\d{1,4})(?:[/?]|$)")
_CODE = re.compile(r"\b(?:[A-Z]{1,5}\d{3,6}|[A-Z]{2,6}-\d{3,6}|[A-Z]{3,6}\d{2}|\d{2}[A-Z]\d{2})\b")  # E0308, ORA-00942
_EXCEPTION = re.compile(r"[A-Z]\w*[a-z](?:Error|Exception|Failure|Warning|Interrupt)")
_ERRNO = frozenset(errno.errorcode.values()) | {"ENOTFOUND", "EAI_AGAIN", "ERESOLVE", "EJSONPARSE", "E2BIG"}
_ERROR_NAME = re.compile(r"(?:ERR|ER|EAI|SQLITE|CERT|SSL|WSAE|UNABLE)_[A-Z_]+")
_NAME = re.compile(r"(?=\w*(?:_|[a-z][A-Z]))[a-z_][\w$]*|[A-Z]+_[A-Z_]+|[a-z]\w*(?:\.\w+)+|\$\w+|@[\w/-]+")
_NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|-?\d+)(?!\w|\.\d)")
# `host:80`, but not `file.py:80`
_HOST = re.compile(
    rf"(?:localhost|\d{{1,3}}(?:\.\d{{1,3}}){{3}}|[\w-]+(?:\.[\w-]+)*\.(?!(?:{_EXTENSIONS}):)[a-z]{{2,}}):$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"""[^\s=:,;()\[\]{}"'<>|`‘’“”]+|[=:]""")
_NEGATED = re.compile(r"\b(?:can't|cannot)\b|n't\b", re.IGNORECASE)
_LOW_PORT = 1024

_STOP_WORDS = frozenset(
    ("a", "an", "the", "of", "on", "in", "at", "to", "for", "from", "by", "with", "and", "or", "is", "was", "be",
     "been", "are", "were", "as", "it", "its", "this", "that")
)  # fmt: skip
# The word behind one of these is the name of something.
_CUES = frozenset(
    ("argument", "attribute", "branch", "class", "collection", "column", "constraint", "container", "database",
     "dataset", "exception", "field", "fixture", "function", "image", "method", "module", "package", "property",
     "reference", "relation", "schema", "script", "symbol", "table", "thread", "user", "variable", "wheel", "undefined",
     "identifier", "namespace", "secret", "deployment", "pod", "service", "host", "topic", "queue", "bucket", "crate",
     "trait", "struct", "enum", "interface", "import", "key", "index", "command", "used", "tool", "job", "step")
)  # fmt: skip
_LINKS = frozenset(("for", "to", "named", "called"))  # may stand between the two
# Unless it is one of these, which say something about it.
_NO_NAMES = frozenset(
    ("not", "no", "has", "have", "had", "does", "did", "do", "can", "could", "should", "would", "must", "may", "will",
     "unknown", "type", "error", "errors", "named", "name", "names", "missing", "failed", "fails", "failure", "already",
     "exist", "exists", "found", "value", "values", "out", "or", "but", "because", "too", "than", "then", "before",
     "after", "while", "when", "during", "which", "what", "never", "only", "if", "all", "any", "also", "still",
     "timed", "timeout", "returned", "returns", "crashed", "violation", "violates", "mismatch", "denied", "refused",
     "into", "without", "rejects", "accepts", "keeps", "drops", "full", "corrupt", "broken", "down", "up", "empty",
     *_STOP_WORDS)
)  # fmt: skip
_STATES = ("ed", "ing", "able", "ible")  # nor what is like `unavailable` or `dropped`
_SWITCHES = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none"))  # as in ready=true
_AT_THE_END = frozenset((ANYTHING, ":", "=", "line", "column", "after"))


@lru_cache(maxsize=4_000)  # for repeated evaluation: the daemon, and rule tests
def template(text: str, stem: bool = True) -> Template:
    """The words of a text without its volatile parts, and the numbers and codes that make it the error it is."""
    plain = _plain(text)
    identity: list[str] = []

    def keep(found: re.Match[str]) -> str:
        before = plain[max(found.start() - 24, 0) : found.start()]
        is_port = _PORT.search(before) or _HOST.search(before)
        low_port = is_port and found[0].isdecimal() and 0 < int(found[0]) < _LOW_PORT
        status = _STATUS.fullmatch(found[0]) and _ANSWERED.search(before)
        if low_port or status or _IDENTITY.search(before):
            identity.append(found[0].lower())
            return found[0] + _KEPT
        return found[0]

    plain = _NUMBER.sub(keep, plain, count=NUMBERS)
    plain = _VOLATILE.sub(lambda found: _leave_out(found, identity), plain)
    plain = _NEGATED.sub(" not", plain)
    words = _trimmed(_words(plain, identity, stem))
    if not identity and _AT_THE_END.issuperset(words):
        # Nothing but what varies: a bare path or number names no error, so it is similar to nothing but itself.
        return (f"{WHOLE}{' '.join(text[:LONGEST].split()).lower()}",), ()
    return words, tuple(identity)


def _plain(text: str) -> str:
    """The characters of a text that are looked at. Cut twice: normalising makes up to 18 of one."""
    plain = text[:LONGEST]
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain)[:LONGEST]
    plain = _DIVIDER.sub(r"\1\1\1", _SPACE.sub(" ", _ESCAPES.sub("", plain)).strip())
    return _RUN.sub(lambda found: found[0][:48] + found[0][-48:], plain)


def _leave_out(found: re.Match[str], identity: list[str]) -> str:
    """A volatile part goes, but not the port of a well-known service in it, nor a number that was to be kept."""
    if found.lastgroup == "package":
        return ""  # java.io.IOException is an IOException
    port = _URL_PORT.search(found[0]) if found.lastgroup == "url" else None
    if port and 0 < int(port[1]) < _LOW_PORT:
        identity.append(port[1])
    return found[0] if _KEPT in found[0] else f" {ANYTHING} "


def _words(plain: str, identity: list[str], stem: bool) -> list[str]:
    words: list[str] = []
    cue = False
    for found in _WORDS.finditer(plain):
        raw = found[0]
        lower = raw.lower()
        if cue and raw[0].isalpha() and lower not in _NO_NAMES and not _is_state(lower) and raw not in _ERRNO:
            word, cue = ANYTHING, False
        else:
            word, identifying = _word(raw, stem)
            if identifying:
                identity.append(identifying)
            elif lower in _SWITCHES and words[-1:] == ["="]:
                word = ANYTHING
            cue = lower in _CUES or (cue and (raw == ":" or lower in _LINKS))
        if word and not (word == ANYTHING and words[-1:] == [ANYTHING]):
            words.append(word)
            if len(words) == MOST:
                break
    return words


def _is_state(word: str) -> bool:
    return len(word) > 5 and word.endswith(_STATES)


@lru_cache(maxsize=10_000)
def _word(raw: str, stem: bool) -> tuple[str, str | None]:
    """A word as it is compared (empty: not at all), and the part that identifies the error."""
    if raw.endswith(_KEPT):
        return raw[:-1].lower(), None
    if raw in (ANYTHING, "=", ":"):
        return raw, None
    bare = raw.strip(".!?-*#")
    word = bare.lower()
    if bare.isupper() and (_CODE.fullmatch(bare) or bare in _ERRNO or _ERROR_NAME.fullmatch(bare)):
        return word, word
    if len(raw) > LONG or any(char.isdigit() for char in raw):
        return ANYTHING, None
    if word in _STOP_WORDS:
        return "", None
    if _EXCEPTION.fullmatch(bare):
        return word, word
    if _NAME.fullmatch(bare):
        return f"{SETTING if bare.isupper() else NAME}{word}", None
    return stemmed(word) if stem else word, None


def _trimmed(words: list[str]) -> tuple[str, ...]:
    """Without the places that stand before an error or behind it: `main.c:14:` and `at line 14`."""
    start, end = 0, len(words)
    while end - start > 1 and words[start] in _AT_THE_END:
        start += 1
    while end - start > 1 and words[end - 1] in _AT_THE_END:
        end -= 1
    return tuple(words[start:end])


_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("ure", ""), ("es", "e"), ("s", ""))


def stemmed(word: str) -> str:
    """The same word in another form: entity and entities, failed and failure, drops and dropped."""
    for ending, instead in _ENDINGS:
        least = 3 if ending == "s" else 4
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + instead
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
    found = _ALONE.sub("0", _BETWEEN.join(texts).translate(_DIGITS)).split(_BETWEEN)
    if len(found) != len(texts):  # one has such a character itself
        return [_ALONE.sub("0", text.translate(_DIGITS)) for text in texts]
    return found


def ignores_digits(outline: str) -> bool:
    """Whether all texts with this skeleton have the same template."""
    return "0" not in outline or _TELLING.search(outline) is None


_MORE_ENDINGS = (
    "ations", "ation", "ators", "ator", "ments", "ment", "ances", "ance", "ences", "ence", "able", "ible", "ings",
    "ing", "ions", "ion", "ers", "er", "ors", "or", "ies", "al", "ly", "ed", "es", "y", "e", "s",
)  # fmt: skip


def same_word(one: str, other: str) -> bool:
    """Whether two words are one but for an ending or a slip of the pen. `valid` and `invalid` are two."""
    if min(len(one), len(other)) < 4 or one[0] != other[0]:
        return False
    return root(one) == root(other) or _slipped(one, other)


@lru_cache(maxsize=10_000)  # a short text is compared with hundreds of others
def root(word: str) -> str:
    """What serialize, serializer and serialisation have in common."""
    word = word.replace("isat", "izat").replace("ise", "ize")
    for ending in _MORE_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (5 if len(ending) > 3 else 4):
            return word[: -len(ending)]
    return word


def _slipped(one: str, other: str) -> bool:
    """One letter too many, or two that changed places; another letter makes another word, as in parsing and passing."""
    short, long = sorted((one, other), key=len)
    if len(long) < 7 or len(long) - len(short) > 1:
        return False
    at = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    if len(long) > len(short):
        return short[at:] == long[at + 1 :]
    return short[at + 2 :] == long[at + 2 :] and short[at : at + 2] == long[at : at + 2][::-1]


def forms(word: str) -> set[str]:
    """Texts of which two words that are the same have one in common: to find them among many."""
    if len(word) < 4:
        return set()
    less = {word[:i] + word[i + 1 :] for i in range(1, len(word))} if len(word) >= 6 else set()
    return {root(word), word} | less
