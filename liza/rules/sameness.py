"""When two texts are the same. Apart from `similar`, whose machinery most checks do without."""


def same_key(text: str) -> str:
    """What two texts have in common that differ only in case, white space, width of letters or punctuation around.

    A text of signs alone is what it is.
    """
    if not text.isascii():
        from unicodedata import normalize  # most texts are plain, and loading its tables takes time

        text = normalize("NFKC", text)
    folded = " ".join(text.casefold().split())
    start, end = 0, len(folded)
    while start < end and _is_sign(folded[start]):
        start += 1
    while end > start and _is_sign(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_sign(char: str) -> bool:
    if char.isalnum():
        return False
    if char.isascii():
        return True
    from unicodedata import category

    return category(char)[0] in "PZCS"
