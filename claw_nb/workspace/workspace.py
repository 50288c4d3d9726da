"""An agent's place of work, and the way to ask it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from claw_nb import config
from claw_nb.agent import Agent, ask_nobody
from claw_nb.config import Settings
from claw_nb.core.clock import new_id
from claw_nb.core.events import CompactionFinished, Event
from claw_nb.core.messages import user
from claw_nb.core.protocols import Approve, Kernel, Provider, StandingRules
from claw_nb.core.records import Session
from claw_nb.core.redact import add_named
from claw_nb.core.tools import Tool
from claw_nb.memory.memories import Memories
from claw_nb.providers import catalog
from claw_nb.store import Store
from claw_nb.store.frames import frames
from claw_nb.tasks import Tasks
from claw_nb.telemetry import over_otlp
from claw_nb.tools.subagent import Delegate
from claw_nb.workspace import upkeep
from claw_nb.workspace.agents import agent_of
from claw_nb.workspace.briefing import Briefing, agent_root, briefing
from claw_nb.workspace.delegation import Delegation
from claw_nb.workspace.hands import hands
from claw_nb.workspace.models import Models, approver, identity

if TYPE_CHECKING:
    from claw_nb.telemetry.traces import Traces

_SESSIONS = 64
"""Sessions whose briefings are kept at once; an older one's is made anew when it goes on."""


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
    _providers: dict[tuple[object, ...], Provider] = field(default_factory=dict)
    _allowed: dict[str, set[str]] = field(default_factory=dict)
    _briefings: dict[str, Briefing] = field(default_factory=dict)

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
        add_named(os.environ)
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
        wanted = identity(settings)
        if wanted not in self._providers:
            self._providers[wanted] = self._models.make(settings)
        return self._providers[wanted]

    @property
    def _models(self) -> Models:
        return Models(home=self.home, root=self.root, env=self.env)

    @property
    def agent_root(self) -> Path:
        """Where the agent's memory files, skills and todos are."""
        return agent_root(self.home, self.settings.agent)

    def briefing(self, session_id: str | None = None) -> Briefing:
        """What the agent is told when a session starts; it stays so for the session."""
        if session_id is None:
            return briefing(self)
        if session_id not in self._briefings:
            while len(self._briefings) >= _SESSIONS:
                self._briefings.pop(next(iter(self._briefings)))
            self._briefings[session_id] = briefing(self)
        return self._briefings[session_id]

    def tools(self, *, session_id: str | None = None) -> tuple[Tool, ...]:
        """Everything that an agent here can do; what it remembers is told to be of the session."""
        return hands(self, session_id=session_id, skills=self.briefing(session_id).skills)

    def agent(
        self,
        settings: Settings,
        *,
        session_id: str | None = None,
        delegate: Delegate | None = None,
    ) -> Agent:
        """The agent that answers here; without ``delegate`` it is a subagent itself."""
        return agent_of(self, settings, session_id=session_id, delegate=delegate)

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
        replay: Literal["off", "record", "strict"] | None = None,
        grant: Sequence[str] = (),
    ) -> AsyncGenerator[Event, None]:
        """Ask the agent; yields the run's events while they are saved.

        ``key`` names the place (a notebook, a folder): its latest session goes on unless ``new``
        or another ``session`` is asked for. Without ``approve`` nobody is asked, and what needs a
        yes is denied unless ``grant`` names its tool. Inside a scheduled run the task's own grant
        counts as well.
        """
        add_named(self.env if self.kernel is None else {**self.env, **self.kernel.namespace})
        chosen = config.chosen(self.settings, provider=provider, model=model, replay=replay)
        chosen = self._models.taped(chosen, key=key)
        self.provider(chosen)  # what is missing is told before a session is made
        catalog.model_for(chosen.provider, chosen.model)
        task_id, granted = self._task_grant()
        head = self._session(key, session=session, new=new, title=prompt)
        with self.store.leases.hold(head.id):
            # A scheduled run has its task's grant; what was said at the keyboard is not for it.
            rules = None if task_id else self._rules(head)
            allowed = self._allowed.setdefault(head.id, set())
            delegation = Delegation(
                work=self,
                settings=chosen,
                parent=head,
                approve=approver(self, chosen, approve or ask_nobody),
                grant=(*grant, *granted),
                allowed=allowed,
                rules=rules,
                task_id=task_id,
            )
            agent = self.agent(chosen, session_id=head.id, delegate=delegation.run)
            past = self.store.sessions.past(head.id)
            events = agent.run(
                past.messages,
                user(prompt),
                run_id=new_id(),
                session_id=head.id,
                compaction=past.compaction,
                approve=delegation.approve,
                grant=delegation.grant,
                allowed=allowed,
                rules=rules,
            )
            kept = self.store.record(
                events,
                session=head,
                agent=agent.name,
                task_id=task_id,
                task_run=self.env.get("CLAW_RUN_ID"),
            )
            watched = self.watched(kept)
            async with aclosing(watched):
                async for event in watched:
                    yield event
        if "memories" in self.__dict__:
            self.memories.embed_soon()
        self.store.compact_soon()

    def watched(
        self, events: AsyncGenerator[Event, None], *, inside: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """The events, with a trace of them sent on if the settings say so.

        ``inside`` is the tool call that the run is part of.
        """
        traces = self._traces
        return events if traces is None else traces.watch(events, inside=inside)

    @cached_property
    def _traces(self) -> Traces | None:
        settings = self.settings
        if settings.telemetry == "off":
            return None
        content: Literal["none", "full"] = "full" if settings.telemetry_content else "none"
        return over_otlp(settings.telemetry_endpoint, content=content)

    async def compact(self, session: str) -> CompactionFinished | None:
        """Summarise a session's older turns now; None when nothing would be gained.

        The transcript stays whole. Raises NotFound, and Conflict while the session is answering.
        """
        return await upkeep.compact(self, session)

    def _rules(self, session: Session) -> StandingRules:
        return self.store.rules.standing(
            agent=self.settings.agent, root=str(self.root), session_id=session.id
        )

    def _session(self, key: str, *, session: str | None, new: bool, title: str) -> Session:
        sessions = self.store.sessions
        if session is not None:
            return sessions.living(session)
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
        return upkeep.rebuild_memories(self)

    def close(self) -> None:
        """Let go of files and connections; opening again is fine."""
        traces = self.__dict__.pop("_traces", None)
        if traces is not None:
            traces.close()
        if "store" in self.__dict__:
            self.store.close()
