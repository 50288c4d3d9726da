"""Which notebook this is: the key under which its conversation goes on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def notebook_path(shell: InteractiveShell, *, env: Mapping[str, str] = os.environ) -> str | None:
    """The notebook's file as its front end tells it: Jupyter's servers, then VS Code."""
    told = env.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__")
    return str(told) if told else None


def key_of(shell: InteractiveShell, *, env: Mapping[str, str] = os.environ) -> str:
    """The notebook's path, or the folder and the kernel where no front end tells one."""
    path = notebook_path(shell, env=env)
    if path is not None:
        return path
    kernel = getattr(shell, "kernel", None)
    ident = str(getattr(kernel, "ident", "")) or str(os.getpid())
    return f"{Path.cwd()}#{ident}"
