"""Where it is put together: the only package that knows every part."""

from claw_nb.workspace.workspace import Workspace

__all__ = ["Workspace"]
