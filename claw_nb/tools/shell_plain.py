"""Whether a script is so plain that its words are certainly what the shell will see."""

from __future__ import annotations

import re

from tree_sitter import Node

#: Single quotes, double quotes without expansions, escaped characters, and unquoted text without
#: variables, substitutions, braces, groups, home folders and comments.
_LETTERS = re.compile(
    r"""(?:'[^']*'|"(?:[^"\\$`]|\\[^\n])*"|\\[^\n]|[^'"\\$`{}()~#])*""",
)
_NODES = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "word", "number", "string",
        "string_content", "raw_string", "concatenation", "redirected_statement", "file_redirect",
        "file_descriptor",
    }
)  # fmt: skip


def is_plain(text: str, tree: Node) -> bool:
    """Simple commands in lists and pipes: nothing is assigned, expanded, repeated or branched.

    A single assignment, even ``for PATH in sub``, can turn ``ls`` into a program of the workspace.
    """
    if tree.has_error or not _LETTERS.fullmatch(text):
        return False
    todo = [tree]
    while todo:
        node = todo.pop()
        if node.is_named and node.type not in _NODES:
            return False
        todo += node.children
    return True
