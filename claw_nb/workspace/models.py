"""The model services of a workspace: made of the settings, recorded or played back if they say so."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from claw_nb.config import Settings
from claw_nb.core.protocols import Approve, Provider
from claw_nb.providers import catalog, pricing
from claw_nb.providers.cassette import SUFFIX, Cassette
from claw_nb.providers.catalog import Login
from claw_nb.providers.normal import Folders
from claw_nb.providers.replay import RecordingProvider, ReplayProvider
from claw_nb.vault import reveal

if TYPE_CHECKING:
    from claw_nb.workspace.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Models:
    """Makes providers. ``home`` and ``root`` are written by name in recordings."""

    home: Path
    root: Path
    env: Mapping[str, str]

    def make(self, settings: Settings) -> Provider:
        """The model service; raises ProviderError when something is missing."""
        if settings.replay == "strict":
            return ReplayProvider(self.cassette(settings), match=settings.match)
        made = catalog.make(
            settings.provider,
            base_url=settings.base_url,
            api_key=(
                reveal(settings.api_key, home=self.home, env=self.env) if settings.api_key else None
            ),
            api_version=settings.api_version,
            login=Login(
                file=Path(settings.codex_auth_file) if settings.codex_auth_file else None,
                mode=settings.codex_login,
                originator=settings.codex_originator,
            ),
            script=Path(settings.script) if settings.script else None,
            tools="prompted" if settings.tools == "prompted" else "native",
            prices=pricing.price_list(settings.prices or {}, at_vendor=False),
            env=self.env,
        )
        if settings.replay == "record":
            return RecordingProvider(made, self.cassette(settings))
        return made

    def cassette(self, settings: Settings) -> Cassette:
        """The recording that the settings name."""
        folders = Folders(named={"folder": self.root, "home": self.home})
        return Cassette(path=self.root / (settings.cassette or f"claw{SUFFIX}"), folders=folders)

    def taped(self, settings: Settings, *, key: str) -> Settings:
        """The settings for one question: with the recording of its place, and what it tells."""
        if settings.replay == "off" and settings.record_tasks and self.env.get("CLAW_RUN_ID"):
            settings = replace(settings, replay="record")
        if settings.replay == "off":
            return settings
        path = settings.cassette or str(self._place(key))
        settings = replace(settings, cassette=path)
        if settings.replay == "strict" and settings.model is None:
            model = self.cassette(settings).model(settings.provider)
            settings = replace(settings, model=model or "recorded")
        return settings

    def _place(self, key: str) -> Path:
        """Beside the notebook; in the folder of a task's run; else in the home."""
        run_id = self.env.get("CLAW_RUN_ID")
        if run_id:
            return self.home / "runs" / run_id / SUFFIX.removeprefix(".")
        if key.endswith(".ipynb"):
            return self.root / Path(key).with_suffix(SUFFIX)
        name = re.sub(r"[^A-Za-z0-9]+", "-", Path(key.partition("#")[0]).name).strip("-")
        mark = hashlib.sha256(key.encode()).hexdigest()[:8]
        return self.home / "cassettes" / f"{name or 'claw'}-{mark}{SUFFIX}"


def approver(work: Workspace, settings: Settings, approve: Approve) -> Approve:
    """Who answers approvals: a recording that is played back answers them itself."""
    provider = work.provider(settings)
    return provider.approve if isinstance(provider, ReplayProvider) else approve


def identity(settings: Settings) -> tuple[object, ...]:
    """What two settings have in common that mean the same service."""
    prices = tuple((model, *sorted(row.items())) for model, row in (settings.prices or {}).items())
    return (*(getattr(settings, name) for name in _SERVICE), prices)


_SERVICE = (
    "provider", "base_url", "api_key", "api_version", "codex_auth_file", "codex_login",
    "codex_originator", "script", "tools", "replay", "cassette", "match",
)  # fmt: skip
