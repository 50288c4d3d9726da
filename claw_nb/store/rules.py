"""The approvals that hold beyond one call: kept in state.db, out of the agent's reach."""

from __future__ import annotations

from dataclasses import dataclass, fields

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import InvalidInput, NotFound
from claw_nb.core.events import ApprovalRequest, Decision
from claw_nb.core.protocols import Answer
from claw_nb.core.records import ApprovalRule, LogRow, RuleReach
from claw_nb.store.inbox import Inbox
from claw_nb.store.state import State

_NAMES = tuple(field.name for field in fields(ApprovalRule))
_COLUMNS = ", ".join(f'"{name}"' for name in _NAMES)


class Rules:
    """Find, keep and forget rules. Every change is logged in the transaction that makes it."""

    def __init__(self, state: State, inbox: Inbox, *, clock: Clock, new_id: NewId) -> None:
        self._state = state
        self._inbox = inbox
        self._clock = clock
        self._new_id = new_id

    def list(self, *, root: str | None = None) -> tuple[ApprovalRule, ...]:
        """The rules that hold, or those of one folder; the oldest first."""
        with self._state.read() as read:
            rows = read.execute(
                f"SELECT {_COLUMNS} FROM approval_rules WHERE root = coalesce(?, root) ORDER BY id",
                (root,),
            ).fetchall()
        return tuple(ApprovalRule(**dict(row)) for row in rows)

    def add(
        self,
        reach: RuleReach,
        tool: str,
        *,
        agent: str,
        root: str,
        by: str,
        session_id: str | None = None,
        path: str | None = None,
    ) -> ApprovalRule:
        """Keep a rule; one that is there already is not kept twice."""
        rule = ApprovalRule(
            id=self._new_id(),
            reach=reach,
            tool=tool,
            agent=agent,
            root=root,
            session_id=session_id if reach == "session" else None,
            path=path if reach == "path" else None,
            by=by,
            created=self._clock(),
        )
        values = {name: getattr(rule, name) for name in _NAMES}
        with self._state.tx() as tx:
            same = tx.execute(
                f"SELECT {_COLUMNS} FROM approval_rules WHERE reach = :reach AND tool = :tool AND "
                "agent = :agent AND root = :root AND session_id IS :session_id AND path IS :path",
                values,
            ).fetchone()
            if same:
                return ApprovalRule(**dict(same))
            places = ", ".join(f":{name}" for name in _NAMES)
            tx.execute(f"INSERT INTO approval_rules ({_COLUMNS}) VALUES ({places})", values)
            self._inbox.append([self._row("approval.rule.kept", rule)], tx=tx)
        return rule

    def forget(self, id: str) -> ApprovalRule:  # noqa: A002
        """Forget the rule with this id, or whose id begins so."""
        found = [rule for rule in self.list() if id and rule.id.startswith(id)]
        if not found:
            raise NotFound(f"There is no rule {id!r}.", hint="`claw approvals rules` lists them.")
        if len(found) > 1:
            raise InvalidInput(f"More than one rule begins with {id!r}.", hint="Give more of it.")
        with self._state.tx() as tx:
            tx.execute("DELETE FROM approval_rules WHERE id = ?", (found[0].id,))
            self._inbox.append([self._row("approval.rule.forgotten", found[0])], tx=tx)
        return found[0]

    def standing(self, *, agent: str, root: str, session_id: str) -> Standing:
        """The rules as an agent's run in this folder and session asks for them."""
        return Standing(rules=self, agent=agent, root=root, session_id=session_id)

    def covering(
        self, tool: str, path: str, *, agent: str, root: str, session_id: str
    ) -> ApprovalRule | None:
        """The rule that lets a tool run there, the widest first."""
        with self._state.read() as read:
            row = read.execute(
                f"SELECT {_COLUMNS} FROM approval_rules WHERE tool = ? AND agent = ? AND root = ? "
                "AND (reach = 'tool' OR (reach = 'session' AND session_id = ?) "
                "OR (reach = 'path' AND path = ? AND path <> '')) ORDER BY reach DESC LIMIT 1",
                (tool, agent, root, session_id, path),
            ).fetchone()
        return ApprovalRule(**dict(row)) if row else None

    def _row(self, kind: str, rule: ApprovalRule) -> LogRow:
        return LogRow(
            id=self._new_id(), ts=self._clock(), kind=kind, session_id=rule.session_id,
            agent=rule.agent, name=rule.tool, status=rule.reach, text=in_words(rule),
            data={"rule": rule.id, "root": rule.root, "path": rule.path, "by": rule.by},
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Standing:
    """``core.protocols.StandingRules`` for one agent, folder and session."""

    rules: Rules
    agent: str
    root: str
    session_id: str

    def covering(self, request: ApprovalRequest) -> tuple[Decision, str] | None:
        """The reach and the words of the rule that covers a call; a risky call has none."""
        if request.risky:
            return None
        found = self.rules.covering(
            request.call.name,
            request.resource,
            agent=self.agent,
            root=self.root,
            session_id=self.session_id,
        )
        return None if found is None else (found.reach, in_words(found))

    def keep(self, request: ApprovalRequest, answer: Answer) -> None:
        """Keep a yes for a session, a tool or a path; of a risky call nothing is kept."""
        reach = answer.decision
        if request.risky or reach == "once" or reach == "denied":
            return
        if reach == "path" and not request.resource:
            return
        self.rules.add(
            reach,
            request.call.name,
            agent=self.agent,
            root=self.root,
            by=answer.by,
            session_id=self.session_id,
            path=request.resource,
        )


def in_words(rule: ApprovalRule) -> str:
    """A rule as a sentence."""
    match rule.reach:
        case "session":
            return f"{rule.tool} may run unasked in session {(rule.session_id or '')[:13]}."
        case "tool":
            return f"{rule.tool} may always run unasked in {rule.root}."
        case "path":
            return f"{rule.tool} may always run unasked on {rule.path}."
