"""Markdown that a model wrote, as HTML that is safe to show.

Raw HTML is escaped. Pictures from elsewhere become links, because a picture's address can carry
data out of the notebook as soon as it is shown. Formulas pass through for MathJax, and a dollar
that begins no formula is kept from it.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# As pandoc reads it: no space inside the dollars, and no digit after the last.
_MATH = re.compile(
    r"\$\$(?!\s*\$).+?\$\$|\$(?![\s$\d])(?:\\.|[^$\\])*?(?<!\s)\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]",
    re.S,
)


_COLOURED = 200_000
"""Characters beyond which colours take too long."""


def html(text: str) -> str:
    """The HTML of a Markdown text."""
    return str(_parser().render(text))


def code(text: str, language: str) -> str:
    """Source text with its colours; plain where the language is unknown."""
    if len(text) > _COLOURED:
        return escape(text)
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    return str(highlight(text.rstrip("\n"), lexer, HtmlFormatter(nowrap=True))).rstrip("\n")


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "math", _math)
    parser.add_render_rule("math", _render_math)
    parser.add_render_rule("image", _render_image)
    parser.add_render_rule("link_open", _render_link)
    return parser


def _highlight(text: str, language: str, attributes: str) -> str:
    return code(text, language)


def _math(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's own signature
    start = state.src[state.pos]
    if start not in "$\\":
        return False
    found = _MATH.match(state.src, state.pos)
    if found is None and start == "\\":
        return False
    text = found[0] if found else start
    if not silent:
        token = state.push("math", "", 0)
        token.content = text
        token.meta = {"formula": found is not None}
    state.pos += len(text)
    return True


def _render_math(
    renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: Any
) -> str:
    token = tokens[index]
    if token.meta["formula"]:
        return escape(token.content)
    return '<span class="tex2jax_ignore mathjax_ignore">$</span>'


def _render_image(
    renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: Any
) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    words = escape(token.content or "picture")
    if source.startswith("data:image/"):
        return f'<img src="{escape(source)}" alt="{words}">'
    return f'<a href="{escape(source)}" rel="noopener noreferrer" target="_blank">{words}</a>'


def _render_link(
    renderer: RendererHTML, tokens: list[Token], index: int, options: Any, env: Any
) -> str:
    tokens[index].attrs |= {"rel": "noopener noreferrer", "target": "_blank"}
    return renderer.renderToken(tokens, index, options, env)
