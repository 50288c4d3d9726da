"""The Jupyter server extension: tasks over REST, and the scheduler in the background."""

from __future__ import annotations

from typing import Any

from claw_nb import __version__ as __version__


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Where Jupyter finds the extension; nothing is imported before it asks."""
    from claw_nb_server.app import ClawApp  # noqa: PLC0415

    return [{"module": "claw_nb_server", "app": ClawApp}]
