"""When two texts are the same. Apart from `similar`, whose machinery most checks do without."""

import unicodedata


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
