"""The report as HTML. Agents wrote parts of it, and can write the file: nothing in it becomes a tag or a link."""

import re
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from liza.text import printable

_OFF = ("link", "image", "autolink", "html_inline", "html_block", "reference", "entity")
_BOX = re.compile(r"\[([ xX])\] ")  # of a task list
_SUBHEADING = {f"h{level}": f"h{min(level + 2, 6)}" for level in range(1, 7)}  # below the headings of the page


def render_markdown(text: str) -> Markup:
    """Headings, lists, tables and emphasis; everything else stays the text that it is."""
    tokens = _parser().parse("\n".join(map(printable, text.splitlines())))
    for token in tokens:
        token.tag = _SUBHEADING.get(token.tag, token.tag)
        if token.type == "inline" and token.children and (box := _BOX.match(token.children[0].content)):
            token.children[0].content = ("☑" if box[1] in "xX" else "☐") + token.children[0].content[3:]
        token.attrs.pop("style", None)  # of an aligned column, which our policy does not allow
    parser = _parser()
    return Markup(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable(list(_OFF))
