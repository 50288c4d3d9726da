"""`%claw` and `%%claw`: they only take the line and delegate."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)
from traitlets import Bool, Enum, Int, Unicode

from claw_nb.notebook.transform import AWAITED

if TYPE_CHECKING:
    from claw_nb.notebook.surface import Surface


@magics_class
class Claw(Magics):
    """The agent in your notebook. Set these with `%config Claw.model = "…"`, for this kernel."""

    model = Unicode("", help="Model to ask; empty for the configured one.").tag(config=True)
    provider = Unicode("", help="Provider to ask; empty for the configured one.").tag(config=True)
    approval = Enum(
        ("auto", "buttons", "input", "deny"), "auto", help="How you are asked before harm is done."
    ).tag(config=True)
    rows = Int(20, help="Rows of a table that are shown.").tag(config=True)
    debug = Bool(False, help="Show the tracebacks of errors.").tag(config=True)

    @cached_property
    def surface(self) -> Surface:
        """Everything behind the magics, made when the first of them is used."""
        from claw_nb.notebook.surface import Surface  # noqa: PLC0415 - %load_ext stays light

        assert self.shell is not None
        return Surface(self.shell, self)

    # IPython would expand {…} and $… in SQL as well, so questions are expanded by us.
    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def claw(self, line: str, cell: str | None = None, local_ns: Any = None) -> object:
        """Ask the agent, and look after what it does and keeps. `%claw help` tells more.

        `%claw ask QUESTION` asks; the conversation goes on from cell to cell.
        `%claw new` begins another. `%claw sql QUERY` looks things up, your data frames included.
        """
        return self.surface.run(line, cell, local_ns or {})

    @line_cell_magic(AWAITED)  # type: ignore[arg-type]  # typed for the undecorated use only
    @no_var_expand
    def awaited(self, line: str, cell: str | None = None) -> Awaitable[object]:
        """`%claw` at the top level of a cell, rewritten to be awaited; not for use by hand."""
        return self.surface.run_awaited(line, cell)
