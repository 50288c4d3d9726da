"""The rules that ruff and import-linter don't know: each takes source text and returns complaints."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping

EMPTY_WORDS = frozenset(
    {
        "Base", "Data", "Factory", "Helper", "Helpers", "Impl", "Info", "Manager", "Mixin",
        "Service", "Util", "Utils",
    }
)  # fmt: skip
EMPTY_MODULES = frozenset({"base", "common", "helper", "helpers", "misc", "util", "utils"})
COMPOUND_NOUNS = ("DataFrame", "DataError", "DataHome")
"""Words in which `Data` says something."""

MAX_LINES = 300


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import that runs: what stands under `if TYPE_CHECKING` doesn't."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        for node in tree.orelse:
            yield from imports(node)
        return
    if isinstance(tree, ast.Import | ast.ImportFrom):
        yield tree
    for child in ast.iter_child_nodes(tree):
        yield from imports(child)


def roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The top-level packages that an import names."""
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").split(".")[0]} if node.level == 0 else set()
    return {alias.name.split(".")[0] for alias in node.names}


def third_party(source: str) -> set[str]:
    """Top-level packages that are neither ours nor the standard library's."""
    found = {name for node in imports(ast.parse(source)) for name in roots(node)}
    return found - set(sys.stdlib_module_names) - {"claw_nb", "claw_nb_server", "__future__"}


def unowned(module: str, source: str, owners: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Third-party imports by a module that doesn't own them."""

    def owns(owner: str) -> bool:
        return module == owner or module.startswith(f"{owner}.")

    return [
        f"{module} imports {package}, "
        + (f"owned by {', '.join(owners[package])}" if package in owners else "owned by nobody")
        for package in sorted(third_party(source))
        if not any(owns(owner) for owner in owners.get(package, ()))
    ]


def too_long(source: str, limit: int = MAX_LINES) -> list[str]:
    """A module over the limit holds a second idea."""
    lines = len(source.splitlines())
    return (
        [f"{lines} lines, more than {limit}: look for the second idea in it"]
        if lines > limit
        else []
    )


def empty_class_names(source: str) -> list[str]:
    """Class names with a word that says nothing."""
    complaints = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            name = node.name
            for noun in COMPOUND_NOUNS:
                name = name.replace(noun, "")
            words = set(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", name))
            complaints += [
                f"class {node.name}: {word!r} is empty" for word in sorted(words & EMPTY_WORDS)
            ]
    return complaints


def empty_module_name(module: str) -> list[str]:
    """Modules that are a drawer, not a noun."""
    return [
        f"{module}: {part!r} is a drawer, not a noun"
        for part in module.split(".")
        if part.lstrip("_") in EMPTY_MODULES
    ]


def relative_imports(source: str) -> list[str]:
    """Imports that start with a dot."""
    return [
        f"line {node.lineno}: write the absolute import"
        for node in imports(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]


def lazy_imports(source: str) -> list[str]:
    """Imports inside a function or method."""
    complaints = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            complaints += [
                f"line {node.lineno}: {function.name} imports {', '.join(sorted(roots(node)))}"
                for node in imports(function)
            ]
    return complaints


def first_line(source: str) -> list[str]:
    """The module's docstring begins with one whole sentence on its own line."""
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    if not docstring:
        return ["no module docstring"]
    line = docstring.splitlines()[0]
    if not line.endswith((".", "?", "!")) or re.search(r"[.?!] +[A-Z]", line):
        return [f"the first line is not one sentence: {line!r}"]
    return []
