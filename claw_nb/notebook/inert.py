"""Markdown that a model wrote, as Markdown in which nothing acts: no raw HTML, no remote picture.

Other viewers than ours render it, and a picture's address carries data out as soon as it is shown.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt

_FORMULA = r"\$\$(?!\s*\$).+?\$\$|\$(?![\s$\d])(?:\\.|[^$\\])*?(?<!\s)\$(?!\d)"
_PIECE = re.compile(
    r"(?P<escaped>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    rf"|(?P<formula>{_FORMULA})"
    r"|(?P<link><https?://[^\s<>`\"']+>)"
    r"|(?P<picture>!\[[^\[\]\n`]*\]\(data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\))"
    r"|(?P<image>!(?=\[))"
    r"|(?P<tag><(?=[A-Za-z/!?]))",
    re.S,
)


def inert(text: str) -> str:
    """The text with tags escaped and pictures made links, but in code, where neither acts."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", text)
    out: list[str] = []
    done = 0
    for begin, end in _code_blocks(text):
        out += [_line_inert("".join(lines[done:begin])), *lines[begin:end]]
        done = end
    return "".join([*out, _line_inert("".join(lines[done:]))])


def inert_cell(text: str) -> str:
    """The same for a cell of a table, in which no tag is let through at all."""
    return text.replace("<", "&lt;").replace("![", "!\\[")


def _code_blocks(text: str) -> list[tuple[int, int]]:
    blocks = [
        (token.map[0], token.map[1])
        for token in _parser().parse(text)
        if token.type in ("fence", "code_block") and token.map
    ]
    return sorted(blocks)


def _line_inert(text: str) -> str:
    out: list[str] = []
    at = 0
    while (found := _PIECE.search(text, at)) is not None:
        out.append(text[at : found.start()])
        at = found.end()
        piece = found[0]
        if found["ticks"]:
            closed = re.compile(rf"(?<!`){piece}(?!`)").search(text, at)
            # Where a block or the cell of a table ends, so does the code for the viewer.
            if closed is not None and not {"\n", "|"} & set(text[at : closed.start()]):
                piece += text[at : closed.end()]
                at = closed.end()
        elif found["formula"]:
            piece = re.sub(r"<(?=[A-Za-z/!?])", "< ", piece).replace("![", "! [")
        elif found["image"]:
            piece = ""
        elif found["tag"]:
            piece = "&lt;"
        out.append(piece)
    return "".join([*out, text[at:]])


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})
