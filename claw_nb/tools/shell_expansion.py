"""What a word of a script becomes: quotes, escapes, braces, variables, ``$(echo ...)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from claw_nb.tools import shell_words as words
from claw_nb.tools.shell_commands import Command
from claw_nb.tools.shell_words import Word

KNOWN: Mapping[str, str] = {
    "HOME": "~",
    "PWD": ".",
    "PPID": "$PPID",
    "OLDPWD": ".",
    "IFS": " ",
    "SHELL": "/bin/bash",
    "BASH": "/bin/bash",
    "0": "bash",
    "ROOT": "/",
    "USER": "user",
    "TMPDIR": "/tmp",
}


@dataclass(kw_only=True)
class Expansion:
    """Expands words; ``run`` reads the statements of a substitution and returns its commands."""

    source: bytes
    run: Callable[[Node], list[Command]]
    variables: dict[str, Word] = field(default_factory=dict)

    def text(self, node: Node) -> str:
        """The node's own text."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def words(self, *nodes: Node) -> list[Word]:
        """The words that nodes without space between them become, after braces and splitting."""
        whole = ""
        for node in nodes:
            text = "".join(self.pieces(node))
            # The grammar takes ``-rf$IFS/`` apart behind the dollar sign.
            cut = re.match(r"\w+", text) if whole.endswith("$") else None
            if cut:
                text = self.variable(cut[0], quoted=False) + text[cut.end() :]
                whole = whole[:-1]
            whole += text
        return words.split(whole)

    def pieces(self, node: Node) -> Iterator[str]:
        """A node's text with marks for what is special in it."""
        match node.type:
            case "word" | "regex" | "extglob_pattern" | "number" | "variable_name":
                yield self.unquoted(self.text(node))
            case "raw_string":
                yield words.literal(self.text(node)[1:-1])
            case "ansi_c_string":
                yield words.literal(words.ansi_c(self.text(node)[2:-1]))
            case "string" | "translated_string":
                yield from self.quoted(node)
            case "string_content" | "heredoc_content":
                yield words.literal(words.in_double_quotes(self.text(node)))
            case "simple_expansion" | "expansion":
                yield self.expansion(node, quoted=False)
            case "command_substitution":
                yield self.substitution(node, quoted=False)
            case "process_substitution":
                self.nested(node)
                yield words.DYNAMIC
            case "arithmetic_expansion":
                self.nested(node)
                yield "0" + words.DYNAMIC
            case "concatenation" | "command_name" | "array" | "brace_expression":
                yield from self.joined(node)
            case _:
                self.nested(node)
                yield self.unquoted(self.text(node))

    def unquoted(self, text: str) -> str:
        """Plain text, and the variables that the grammar overlooks in it (``-rf$IFS/``)."""
        pieces = re.split(r"(?<!\\)\$(\w+)", text)
        for at, piece in enumerate(pieces):
            pieces[at] = self.variable(piece, quoted=False) if at % 2 else words.unescaped(piece)
        return "".join(pieces)

    def joined(self, node: Node) -> Iterator[str]:
        """The parts of a word, and what the grammar skips between them."""
        at = node.start_byte
        for child in node.children:
            if child.start_byte > at:
                yield words.unescaped(self.source[at : child.start_byte].decode("utf-8", "replace"))
            yield from self.pieces(child)
            at = child.end_byte

    def quoted(self, node: Node) -> Iterator[str]:
        """What stands between double quotes."""
        yield words.QUOTED
        at = None
        for child in node.children:
            if at is not None and child.start_byte > at:
                gap = self.source[at : child.start_byte].decode("utf-8", "replace")
                yield words.literal(words.in_double_quotes(gap))
            at = child.end_byte
            match child.type:
                case "simple_expansion" | "expansion":
                    yield self.expansion(child, quoted=True)
                case "command_substitution":
                    yield self.substitution(child, quoted=True)
                case '"' | '$"' | "$":
                    yield "" if child.type != "$" else "$"
                case _:
                    yield from self.pieces(child)

    def expansion(self, node: Node, *, quoted: bool) -> str:
        """``$x``, ``${x}``, ``${x:-default}``; anything cleverer can't be known."""
        for child in node.named_children:
            if child.type not in ("variable_name", "special_variable_name"):
                self.nested(child)
        text = self.text(node)
        if text == "$$":
            return text
        if plain := re.fullmatch(r"\$\{?(\w+)(?:\}|[%#/^,][^${}`]*\})?", text):
            return self.variable(plain[1], quoted=quoted)
        if default := re.fullmatch(r"\$\{(\w+):?[-=+]([^${}`]*)\}", text):
            if default[1] in self.variables or default[1] in KNOWN:
                return self.variable(default[1], quoted=quoted)
            value = default[2].strip("'\"")
            return (words.literal if quoted else words.splittable)(value) + words.UNSET
        return words.DYNAMIC

    def variable(self, name: str, *, quoted: bool) -> str:
        """The value that the script gave to a variable, or that it has for everybody."""
        known = self.variables.get(name)
        if known is None and name in KNOWN:
            known = Word(text=KNOWN[name])
        if known is None:
            return words.UNSET if name.isidentifier() else words.DYNAMIC
        text = words.literal(known.text) if quoted else words.splittable(known.text)
        return text + (words.DYNAMIC if known.dynamic else "")

    def substitution(self, node: Node, *, quoted: bool) -> str:
        """What ``$(echo ...)`` prints; the output of other programs can't be known."""
        made = self.nested(node)
        if len(made) != 1 or made[0].name not in ("echo", "printf") or made[0].redirects:
            return words.DYNAMIC
        said = made[0].words[1:]
        if any(word.dynamic for word in said):
            return words.DYNAMIC
        options = re.compile(r"-[neE]+|%[sb](?:\\n)?")
        text = words.ansi_c(" ".join(w.text for w in said if not options.fullmatch(w.text)))
        return (words.literal if quoted else words.splittable)(text)

    def nested(self, node: Node) -> list[Command]:
        """The commands in what stands inside a word."""
        return [command for child in node.named_children for command in self.run(child)]
