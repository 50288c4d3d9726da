"""`%load_ext claw_nb` and its undoing: magics, the await rewriting and tab completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claw_nb.notebook.magics import Claw
from claw_nb.notebook.transform import AWAITED, MAGIC, keep_questions, transformer

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_LOADED = "_claw_nb_loaded"
"""The shell's attribute that holds what ``unload`` takes away again."""

_COMPLETED = ("%claw", "%%claw")


def load(shell: InteractiveShell) -> None:
    """Register everything, once; nothing is shown, read or written."""
    if hasattr(shell, _LOADED):
        return
    magics = Claw(shell=shell)
    shell.register_magics(magics)
    rewriting = transformer(shell)
    shell.input_transformers_post.append(rewriting)
    shell.input_transformers_cleanup.append(keep_questions)

    def words(_shell: Any, event: Any) -> list[str]:
        # Commands are click's, which a kernel that never completes needs not load.
        from claw_nb.notebook.completion import complete  # noqa: PLC0415

        return complete(event.text_until_cursor.lstrip(), magics.surface.workspace)

    for prefix in _COMPLETED:
        shell.set_hook("complete_command", words, str_key=prefix)
    setattr(shell, _LOADED, (magics, rewriting))


def unload(shell: InteractiveShell) -> None:
    """Leave the shell as it was."""
    loaded = getattr(shell, _LOADED, None)
    if loaded is None:
        return
    magics, rewriting = loaded
    for kind in ("line", "cell"):
        for name in (MAGIC, AWAITED):
            shell.magics_manager.magics[kind].pop(name, None)
    shell.magics_manager.registry.pop(type(magics).__name__, None)
    shell.configurables.remove(magics)
    shell.input_transformers_post.remove(rewriting)
    shell.input_transformers_cleanup.remove(keep_questions)
    completers = shell.strdispatchers["complete_command"]
    for prefix in _COMPLETED:
        completers.strs.pop(prefix, None)
    if "surface" in magics.__dict__:
        magics.surface.close()
    delattr(shell, _LOADED)
