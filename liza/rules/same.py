"""When two texts are the same. Apart from `similar`, whose machinery most checks do without."""

LONGEST = 500  # characters of a text that are compared so; normalising makes up to 18 of one
_NORMALISED = 200  # of them, where a text is not plain
_SIGNS = 100  # around a text that are left out, at each end


def same_key(text: str) -> str:
    """What two texts have in common that differ only in case, white space, width of letters or punctuation around.

    A text of signs alone is what it is. What is behind the first `LONGEST` characters must be equal as it is.
    """
    if len(text) > LONGEST:
        return same_key(text[:LONGEST]) + text[LONGEST:]
    if not text.isascii():
        from unicodedata import normalize  # most texts are plain, and loading its tables takes time

        text = normalize("NFKC", text[:_NORMALISED]) + text[_NORMALISED:]
    folded = " ".join(text.casefold().split())
    if folded[:1].isalnum() and folded[-1:].isalnum():
        return folded
    start, end = 0, len(folded)
    while start < min(end, _SIGNS) and _is_sign(folded[start]):
        start += 1
    while end > max(start, len(folded) - _SIGNS) and _is_sign(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_sign(char: str) -> bool:
    if char.isalnum():
        return False
    if char.isascii():
        return True
    from unicodedata import category

    return category(char)[0] in "PZCS"
