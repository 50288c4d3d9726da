"""Reading, writing and editing files inside the boundary."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from claw_nb.core.errors import ToolError
from claw_nb.core.tools import Review, Tool, ToolOutput, tool
from claw_nb.tools import edit as editing
from claw_nb.tools import pages
from claw_nb.tools.beneath import read, write
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.failures import shortened
from claw_nb.tools.oserrors import told
from claw_nb.tools.unseen import unseen

_MOST_EDITED = 10_000_000
_LONGEST_DIFF = 8_000
"""Characters of a diff that the model gets back."""
_LONGEST_QUESTION = 100_000
"""Characters of a diff that a person is shown before it is made."""
_BOM = "\ufeff"

#: Files that hold secrets by their names, and files that run by themselves or rule other tools.
_SECRET = re.compile(
    r"\.env(?:\..+)?|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|credentials(?:\..+)?|id_[a-z0-9]+"
    r"|.*\.(?:pem|key|p12|pfx|kdbx|jks|keystore)|secrets?\.(?:ya?ml|json|toml|ini|env)",
    re.IGNORECASE,
)
_HARMLESS_ENV = re.compile(r"\.env\.(?:example|sample|template|dist)|.*\.pub", re.IGNORECASE)
_STARTS_ITSELF = re.compile(
    r"(?:.*/)?(?:\.git/(?:hooks/.*|config(?:\..*)?|info/attributes|modules/.*)|\.(?:bash|zsh)(?:rc|env|_?profile|_login|_logout)|\.profile"
    r"|\.ssh/.*|\.gitconfig|\.(?:github/workflows|vscode|idea|devcontainer|claw|ipython|jupyter)/.*"
    r"|\.config/(?:systemd|autostart|environment\.d|fish|git)/.*|\.envrc|jupyter_\w*config\.(?:py|json|d/.*)"
    r"|sitecustomize\.py|usercustomize\.py|conftest\.py|.*\.pth)",
    re.IGNORECASE,
)


def file_tools(boundary: Boundary) -> tuple[Tool, ...]:
    """``read_file``, ``write_file`` and ``edit_file`` in one boundary."""

    def resource(arguments: Mapping[str, Any]) -> str:
        return str(boundary.resolve(arguments["path"]))

    def may_read(arguments: Mapping[str, Any]) -> Review:
        real = boundary.resolve(arguments["path"])
        if holds_secrets(real):
            return Review(verdict="ask", reason=f"{real.name} may hold secrets.", risky=True)
        return Review(verdict="allow")

    def may_write(arguments: Mapping[str, Any]) -> Review:
        real = boundary.resolve(arguments["path"])
        content = str(arguments["content"])
        return _review(boundary, real, _before(boundary, real), content, given=content)

    def may_edit(arguments: Mapping[str, Any]) -> Review:
        real = boundary.resolve(arguments["path"])
        old = _text(boundary, real)
        edits = _edits(arguments["edits"])
        new = editing.apply(old, edits, name=boundary.shown(real)).text
        return _review(boundary, real, old, new, given="\n".join(edit.new for edit in edits))

    @tool(review=may_read)
    async def read_file(
        path: Annotated[str, "Path of the file, relative to the workspace."],
        offset: Annotated[int, "The first line to read, from 1."] = 1,
        limit: Annotated[int, "Lines at most, up to 2000."] = 2000,
    ) -> ToolOutput:
        """Read a text file or a picture (PNG, JPEG, GIF, WebP).

        At most 2,000 lines and 50 KB at a time; the answer says how to go on.
        """
        if offset < 1 or limit < 1:
            raise ToolError("offset and limit count from 1", kind="validation")
        real = boundary.resolve(path)
        return await asyncio.to_thread(
            pages.page, boundary, real, offset=offset, limit=min(limit, pages.MOST_LINES)
        )

    @tool(effect="write", resource=resource, review=may_write)
    async def write_file(
        path: Annotated[str, "Path of the file, relative to the workspace."],
        content: Annotated[str, "The whole new content."],
    ) -> str:
        """Write a whole file, new or in place of the old one; folders are made as needed.

        To change a part of a file, use edit_file.
        """
        return await asyncio.to_thread(_write, boundary, boundary.resolve(path), content)

    @tool(effect="write", resource=resource, review=may_edit)
    async def edit_file(
        path: Annotated[str, "Path of the file, relative to the workspace."],
        edits: Annotated[
            list[dict[str, Any]],
            'Objects {"old_text": ..., "new_text": ...}. Each old_text is exact and stands once in '
            "the file as it is now; edits don't overlap.",
        ],
    ) -> str:
        """Replace exact pieces of a text file; all edits are made at once, or none.

        Line ends, byte-order mark and permissions stay as they are.
        """
        return await asyncio.to_thread(_edit, boundary, boundary.resolve(path), _edits(edits))

    return (read_file, write_file, edit_file)


def holds_secrets(path: Path) -> bool:
    """Whether a file's name says that there are secrets in it."""
    return bool(_SECRET.fullmatch(path.name)) and not _HARMLESS_ENV.fullmatch(path.name)


def starts_itself(relative: str) -> bool:
    """Whether writing this file makes other programs run something later."""
    return bool(_STARTS_ITSELF.fullmatch(relative))


def _review(boundary: Boundary, real: Path, old: str, new: str, *, given: str) -> Review:
    shown = boundary.shown(real)
    whole = _diff(old, new, shown)
    preview = shortened(whole, _LONGEST_QUESTION)
    if starts_itself(shown):
        reason = f"{shown} makes other programs run something or sets their rules."
        return Review(verdict="ask", reason=reason, preview=preview, risky=True)
    if holds_secrets(real):
        return Review(verdict="ask", reason=f"{shown} may hold secrets.", risky=True)
    does = f"It {'changes' if old else 'writes'} {shown}."
    warning = unseen(given)
    if not warning and len(whole) > _LONGEST_QUESTION:
        cut = len(whole) - _LONGEST_QUESTION
        warning = (
            f"The change is too long to show: {cut:,} of its {len(whole):,} characters are cut."
        )
    reason = f"{does} {warning}".strip()
    return Review(verdict="ask", reason=reason, preview=preview, risky=bool(warning))


def _edits(given: Sequence[Mapping[str, Any]]) -> tuple[editing.Edit, ...]:
    for number, edit in enumerate(given, 1):
        if set(edit) != {"old_text", "new_text"} or not all(
            isinstance(value, str) for value in edit.values()
        ):
            raise ToolError(
                f"edit {number} must have the two texts old_text and new_text, and nothing else",
                kind="validation",
            )
    return tuple(editing.Edit(old=edit["old_text"], new=edit["new_text"]) for edit in given)


def _text(boundary: Boundary, real: Path) -> str:
    """A file's whole text, byte-order mark included, as UTF-8; raises ToolError."""
    shown = boundary.shown(real)
    with told(boundary, real):
        content, _ = read(boundary, real, most=_MOST_EDITED + 1)
    if len(content) > _MOST_EDITED:
        raise ToolError(
            f"{shown} is too large to edit or replace here",
            kind="validation",
            hints=("Change it with run_python or bash.",),
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{shown} is not UTF-8 text: {error.reason} at byte {error.start}",
            kind="validation",
            hints=("Change it with run_python, in its own encoding.",),
        ) from error


def _before(boundary: Boundary, real: Path) -> str:
    """What a write would replace, for the diff only: nothing, when there is no such file."""
    if not real.exists():
        return ""
    with told(boundary, real):
        content, _ = read(boundary, real, most=_MOST_EDITED)
    return content.decode("utf-8", "replace")


def _write(boundary: Boundary, real: Path, content: str) -> str:
    existed = real.exists()
    with told(boundary, real):
        write(boundary, real, _encoded(content))
    size, lines = len(content.encode()), len(content.splitlines())
    does = "Replaced" if existed else "Created"
    return f"{does} {boundary.shown(real)}: {lines} {_plural('line', lines)}, {size:,} bytes."


def _edit(boundary: Boundary, real: Path, edits: Sequence[editing.Edit]) -> str:
    shown = boundary.shown(real)
    old = _text(boundary, real)
    mark = _BOM if old.startswith(_BOM) else ""
    edited = editing.apply(old.removeprefix(_BOM), edits, name=shown)
    with told(boundary, real):
        write(boundary, real, _encoded(mark + edited.text))
    count = f"{len(edits)} {_plural('place', len(edits))}"
    return "\n".join(
        (f"Edited {shown} in {count}.", *edited.notes, diff(old, mark + edited.text, shown))
    )


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the text holds half a character at position {error.start + 1}", kind="validation"
        ) from error


def diff(old: str, new: str, name: str) -> str:
    """What changes, as a unified diff, shortened when it is long."""
    return shortened(_diff(old, new, name), _LONGEST_DIFF)


def _diff(old: str, new: str, name: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}", lineterm="", n=3
    )
    return "\n".join(lines)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
