"""An agent's place of work, and the way to ask it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from claw_nb import config
from claw_nb.agent import Agent, Limits, ask_nobody
from claw_nb.agent.prompt import instructions
from claw_nb.config import Settings
from claw_nb.core.clock import new_id
from claw_nb.core.events import Event
from claw_nb.core.messages import user
from claw_nb.core.protocols import Approve, Kernel, Provider
from claw_nb.core.records import LogRow, Session
from claw_nb.core.tools import Tool
from claw_nb.memory.memories import Memories
from claw_nb.providers import catalog
from claw_nb.store import Store
from claw_nb.store.frames import frames
from claw_nb.tasks import Tasks
from claw_nb.workspace.hands import hands


@dataclass(kw_only=True)
class Workspace:
    """An agent's place of work: a data home, a folder, settings, perhaps a live kernel.

    Opening is cheap and touches nothing; the store, the memories and the tasks open at first use.
    """

    home: Path
    settings: Settings
    root: Path
    kernel: Kernel | None = None
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _providers: dict[tuple[str | None, ...], Provider] = field(default_factory=dict)
    _allowed: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        home: Path | None = None,
        *,
        settings: Settings | None = None,
        kernel: Kernel | None = None,
        root: Path | None = None,
    ) -> Workspace:
        """The workspace of a data home (``CLAW_HOME``, else ``~/.claw``) and a folder (the cwd).

        Raises ConfigError when the settings cannot be read.
        """
        home = home or config.default_home()
        return cls(
            home=home,
            settings=settings or config.load(home),
            root=(root or Path.cwd()).absolute(),
            kernel=kernel,
        )

    # -- the parts -----------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        """What is kept."""
        return Store.open(self.home)

    @cached_property
    def memories(self) -> Memories:
        """What is remembered."""
        folder = self.store.data / "memory"
        return Memories(
            folder,
            self.store.data / "locks" / "memory.lock",
            embedder=self.settings.embedder,
            agent=self.settings.agent,
            log=lambda row: self.store.append([row]),
        )

    @cached_property
    def tasks(self) -> Tasks:
        """What is scheduled."""
        return Tasks(self.store)

    def provider(self, settings: Settings) -> Provider:
        """The configured model service; raises ProviderError when something is missing.

        One is kept for each setting of it: a provider learns what its service refuses.
        """
        wanted = (
            settings.provider,
            settings.base_url,
            settings.api_key,
            settings.script,
            settings.tools,
        )
        if wanted not in self._providers:
            self._providers[wanted] = catalog.make(
                settings.provider,
                base_url=settings.base_url,
                api_key=settings.api_key,
                script=Path(settings.script) if settings.script else None,
                tools="prompted" if settings.tools == "prompted" else "native",
                env=self.env,
            )
        return self._providers[wanted]

    def tools(self, *, session_id: str | None = None) -> tuple[Tool, ...]:
        """Everything that an agent here can do; what it remembers is told to be of the session."""
        return hands(self, session_id=session_id)

    def agent(self, settings: Settings, *, session_id: str | None = None) -> Agent:
        """The agent that answers here."""
        tools = self.tools(session_id=session_id)
        return Agent(
            name=settings.agent,
            provider=self.provider(settings),
            model=settings.model or catalog.default_model(settings.provider),
            instructions=instructions(
                tools=tools, root=self.root, in_notebook=self.kernel is not None
            ),
            tools=tools,
            limits=Limits(
                max_turns=settings.max_turns,
                max_tokens=settings.max_tokens,
                max_retries=settings.max_retries,
            ),
        )

    def frames(self) -> dict[str, object]:
        """The user's data frames by name, for SQL."""
        if self.kernel is None:
            return {}
        return frames(self.kernel.namespace)

    # -- asking --------------------------------------------------------------------------------

    async def ask(
        self,
        prompt: str,
        *,
        key: str,
        session: str | None = None,
        new: bool = False,
        approve: Approve | None = None,
        provider: str | None = None,
        model: str | None = None,
        grant: Sequence[str] = (),
    ) -> AsyncGenerator[Event, None]:
        """Ask the agent; yields the run's events while they are saved.

        ``key`` names the place (a notebook, a folder): its latest session goes on unless ``new``
        or another ``session`` is asked for. Without ``approve`` nobody is asked, and what needs a
        yes is denied unless ``grant`` names its tool. Inside a scheduled run the task's own grant
        counts as well.
        """
        chosen = self._chosen(provider, model)
        self.provider(chosen)  # what is missing is told before a session is made
        task_id, granted = self._task_grant()
        head = self._session(key, session=session, new=new, title=prompt)
        agent = self.agent(chosen, session_id=head.id)
        events = agent.run(
            self.store.sessions.messages(head.id),
            user(prompt),
            run_id=new_id(),
            session_id=head.id,
            approve=approve or ask_nobody,
            grant=(*grant, *granted),
            allowed=self._allowed.setdefault(head.id, set()),
        )
        kept = self.store.record(events, session=head, agent=agent.name, task_id=task_id)
        async with aclosing(kept):
            async for event in kept:
                yield event
        if "memories" in self.__dict__:
            self.memories.embed_soon()
        self.store.compact_soon()

    def _chosen(self, provider: str | None, model: str | None) -> Settings:
        """The settings for one question; another provider brings its own model and address."""
        settings = self.settings
        if provider is not None and provider != settings.provider:
            settings = replace(settings, provider=provider, model=None, base_url=None, api_key=None)
        return settings if model is None else replace(settings, model=model)

    def _session(self, key: str, *, session: str | None, new: bool, title: str) -> Session:
        sessions = self.store.sessions
        if session is not None:
            return sessions.get(session)
        found = None if new else sessions.latest(key, self.settings.agent)
        line = title.strip().splitlines()[0] if title.strip() else ""
        return found or sessions.create(key, self.settings.agent, title=line[:80])

    def _task_grant(self) -> tuple[str | None, tuple[str, ...]]:
        """The task whose run this process belongs to, and the tools that it was given."""
        run_id = self.env.get("CLAW_RUN_ID")
        if not run_id:
            return None, ()
        task = self.tasks.of_run(run_id)
        return task.id, task.grant

    # -- upkeep --------------------------------------------------------------------------------

    def rebuild_memories(self) -> int:
        """Make the memories what the log says; returns how many changed."""
        statement = (
            "SELECT id, epoch_us(ts) AS ts, kind, data FROM events WHERE kind LIKE 'memory.%'"
        )
        found = asyncio.run(self.store.query(statement)).rows()
        rows = [
            LogRow(id=id_, ts=ts, kind=kind, data=json.loads(data)) for id_, ts, kind, data in found
        ]
        return self.memories.rebuild(rows)

    def close(self) -> None:
        """Let go of files and connections; opening again is fine."""
        if "store" in self.__dict__:
            self.store.close()
