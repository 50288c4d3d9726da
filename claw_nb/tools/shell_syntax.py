r"""A shell script as the simple commands that it would run, with their words as the shell sees them.

The grammar is tree-sitter's for bash. Quotes, escapes, braces, known variables and the output of
``$(echo ...)`` are resolved, so that ``r""m -r\\f "$HOME"`` reads ``rm -rf $HOME``. What can't be
known is marked ``dynamic``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from claw_nb.tools.shell_commands import Command, Function, Redirect, Script
from claw_nb.tools.shell_expansion import Expansion
from claw_nb.tools.shell_plain import is_plain
from claw_nb.tools.shell_words import Word

_NOT_ASCII = re.compile(rb"[\x80-\xff]")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str, *, environment: Mapping[str, str] = MappingProxyType({})) -> Script:
    """The script's commands, those in functions, branches and substitutions too.

    ``environment`` holds the variables that are known although no script sets them.
    """
    source = text.replace("\\\n", "").encode("utf-8", "replace")
    # The grammar's scanner looks letters up in a table that ends before most of Unicode and
    # crashes the process beyond it. To bash they all are plain letters of a word, as x is.
    tree = _parser().parse(_NOT_ASCII.sub(b"x", source))
    reading = _Reading(source=source, environment=environment)
    reading.visit(tree.root_node)
    return Script(
        commands=tuple(reading.commands),
        functions=tuple(reading.functions),
        clear=not tree.root_node.has_error,
        plain="\\\n" not in text and is_plain(text, tree.root_node),
    )


@dataclass(kw_only=True)
class _Reading:
    """One walk over a tree; variables are known from the assignments that stand before."""

    source: bytes
    environment: Mapping[str, str]
    commands: list[Command] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.expansion = Expansion(source=self.source, run=self.run)
        known = {name: Word(text=value) for name, value in self.environment.items()}
        self.expansion.variables |= known
        self.text = self.expansion.text
        self.words = self.expansion.words

    def run(self, node: Node) -> list[Command]:
        """Read a substitution; all its commands come back."""
        before = len(self.commands)
        self.visit(node)
        return self.commands[before:]

    def visit(self, node: Node) -> list[Command]:
        """Read a node; the commands that write to its standard output come back."""
        match node.type:
            case "command" | "declaration_command" | "test_command" | "unset_command":
                return [self.command(node, ())]
            case "pipeline":
                return self.pipeline(node)
            case "redirected_statement":
                return self.redirected(node)
            case "variable_assignment":
                self.assign(node)
                return []
            case "file_redirect" | "herestring_redirect":  # $(< file)
                return [self.keep(Command(words=(), redirects=tuple(self.redirect(node))))]
            case "function_definition":
                return self.function(node)
            case "for_statement":
                self.loop(node)
        return [command for child in node.named_children for command in self.visit(child)]

    def command(
        self, node: Node, redirects: Sequence[Redirect], feeds: Sequence[Command] = ()
    ) -> Command:
        found: list[Word] = []
        inputs: list[Command] = []
        own = list(redirects)
        assigned: list[tuple[str, Word]] = []
        if node.type != "command":
            found.append(Word(text=node.children[0].type if node.children else node.type))
        for nodes in _touching(node.named_children):
            before = len(self.commands)
            if nodes[0].type == "variable_assignment":
                assigned.append(self.assign(nodes[0]))
            elif nodes[0].type.endswith("redirect"):
                own += self.redirect(nodes[0])
            else:
                found += self.words(*nodes)
            inputs += self.commands[before:]
        made = Command(
            words=tuple(found),
            redirects=tuple(own),
            feeds=tuple(feeds),
            assigned=tuple(assigned),
            inputs=tuple(inputs),
        )
        self.commands.append(made)
        if made.name in ("read", "readarray", "mapfile"):
            unknown = {word.text: Word(text="", dynamic=True) for word in found[1:]}
            self.expansion.variables |= unknown | {"REPLY": Word(text="", dynamic=True)}
        return made

    def pipeline(self, node: Node, first: Sequence[Command] = ()) -> list[Command]:
        feeds = list(first)
        for child in node.named_children:
            feeds = [*reversed(self.staged(child, (), feeds)), *feeds]
        return feeds

    def staged(
        self, node: Node, redirects: Sequence[Redirect], feeds: Sequence[Command]
    ) -> list[Command]:
        """A stage of a pipeline: in a group or a loop, each command may read what comes in."""
        if node.type == "command":
            return [self.command(node, redirects, feeds)]
        if node.type == "redirected_statement":
            return self.redirected(node, feeds)
        if node.type == "pipeline":
            return self.pipeline(node, feeds)
        if node.type in _GROUPS:
            return [
                c for child in node.named_children for c in self.staged(child, redirects, feeds)
            ]
        return self.visit(node)

    def redirected(self, node: Node, feeds: Sequence[Command] = ()) -> list[Command]:
        redirects: list[Redirect] = []
        for child in node.named_children:
            if child.type.endswith("redirect"):
                redirects += self.redirect(child)
        bodies = [child for child in node.named_children if not child.type.endswith("redirect")]
        if not bodies:
            return [self.keep(Command(words=(), redirects=tuple(redirects)))]
        made = [c for body in bodies for c in self.staged(body, redirects, feeds)]
        if not made or not set(redirects) <= {r for c in made for r in c.redirects}:
            self.keep(Command(words=(), redirects=tuple(redirects)))
        # What follows a heredoc's first line in a pipeline hangs in the heredoc's own node.
        for child in node.named_children:
            if child.type == "heredoc_redirect":
                for inner in child.named_children:
                    if inner.type in ("pipeline", "command", "list", "redirected_statement"):
                        self.staged(inner, (), made)
        return made

    def keep(self, command: Command) -> Command:
        self.commands.append(command)
        return command

    def redirect(self, node: Node) -> list[Redirect]:
        if node.type == "heredoc_redirect":
            body = next((c for c in node.named_children if c.type == "heredoc_body"), None)
            text = self.text(body) if body else ""
            quoted = any(
                c.type == "heredoc_start" and self.text(c)[:1] in "'\"\\"
                for c in node.named_children
            )
            if body and not quoted:
                self.visit(body)
            return [Redirect(operator="<<", target=Word(text=text))]
        operator = next((c.type for c in node.children if not c.is_named), "<<<")
        targets = [c for c in node.named_children if c.type != "file_descriptor"]
        return [
            Redirect(operator=operator, target=word)
            for target in targets
            for word in self.words(target)
        ]

    def assign(self, node: Node) -> tuple[str, Word]:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        found = self.words(value) if value else [Word(text="")]
        word = Word(
            text=" ".join(each.text for each in found),
            dynamic=any(each.dynamic for each in found),
        )
        key = self.text(name) if name else ""
        self.expansion.variables[key] = word
        return key, word

    def loop(self, node: Node) -> None:
        """``for x in a b``: each value counts, as if all were there at once."""
        variable = node.child_by_field_name("variable")
        values = [
            word for child in node.children_by_field_name("value") for word in self.words(child)
        ]
        if variable is not None:
            self.expansion.variables[self.text(variable)] = Word(
                text=" ".join(word.text for word in values),
                dynamic=any(word.dynamic for word in values) or not values,
            )

    def function(self, node: Node) -> list[Command]:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        before = len(self.commands)
        if body is not None:
            self.visit(body)
        made = self.commands[before:]
        text = self.text(body) if body else ""
        self.functions.append(
            Function(
                name=self.text(name) if name else "",
                calls=tuple(command.name for command in made),
                branches=bool(re.search(r"\|(?!\|)|(?<![&>])&(?![&>])", text)),
            )
        )
        return []


def _touching(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes of words grouped where no space is between them."""
    groups: list[list[Node]] = []
    for node in nodes:
        apart = node.type.endswith("redirect") or node.type == "variable_assignment"
        if groups and not apart and groups[-1][-1].end_byte == node.start_byte:
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


_GROUPS = frozenset(
    {
        "subshell", "compound_statement", "list", "do_group", "while_statement", "for_statement",
        "if_statement", "else_clause", "elif_clause", "case_statement", "case_item",
        "negated_command", "c_style_for_statement",
    }
)  # fmt: skip
