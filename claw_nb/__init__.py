"""An agent that lives in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]
__version__ = "0.1.0"


def load_ipython_extension(ip: InteractiveShell) -> None:
    """``%load_ext claw_nb``: the `%claw` magics."""
    from claw_nb.notebook.extension import load  # noqa: PLC0415 - `import claw_nb` needs no IPython

    load(ip)


def unload_ipython_extension(ip: InteractiveShell) -> None:
    """``%unload_ext claw_nb``."""
    from claw_nb.notebook.extension import unload  # noqa: PLC0415 - see above

    unload(ip)
