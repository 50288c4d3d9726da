"""The extension's settings, and what it starts and stops with the server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Int, Unicode

from claw_nb_server.background import Background
from claw_nb_server.desk import Desk
from claw_nb_server.handlers import ROUTES


class ClawApp(ExtensionApp):
    """claw_nb in a Jupyter server."""

    name = "claw_nb_server"

    home = Unicode("", help="The data home; empty means CLAW_HOME, else ~/.claw.").tag(config=True)
    run_scheduler = Bool(
        True, help="Run due tasks in this server. Any number of servers may: a task runs once."
    ).tag(config=True)
    max_parallel = Int(
        0,
        min=0,
        max=64,
        help="How many runs may be going at once in this server; 0 takes tasks.max_parallel.",
    ).tag(config=True)

    background: Background | None = None

    def initialize_settings(self) -> None:
        """What the handlers get: the desk, which opens the home at its first use."""
        self.desk = Desk(home=Path(self.home).expanduser() if self.home else None)
        self.settings["claw_desk"] = self.desk
        if self.run_scheduler:
            self.background = Background(
                desk=self.desk, slots=self.max_parallel, log=self.log, on_active=self._active
            )
        self.settings["claw_background"] = self.background

    def initialize_handlers(self) -> None:
        """The routes under ``/claw/v1``."""
        self.handlers.extend(ROUTES)

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        if self.background is not None:
            self.background.start()

    async def stop_extension(self) -> None:
        """Stop what is going, and let go of the home."""
        if self.background is not None:
            await self.background.stop()
        await self.desk.close()

    def current_activity(self) -> list[str] | None:
        """The runs that are going, which keep an idle server from shutting itself down."""
        return list(self.background.running) or None if self.background is not None else None

    def _active(self) -> None:
        # Jupyter takes every setting with this ending for a sign of life, and hubs cull by it.
        assert self.serverapp is not None
        self.serverapp.web_app.settings["claw_last_activity"] = datetime.now(UTC)
