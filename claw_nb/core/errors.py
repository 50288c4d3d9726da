"""Every error raised on purpose: what happened, and what to do next."""

from __future__ import annotations

from typing import Any, Literal

ToolErrorKind = Literal["validation", "policy", "not_found", "conflict", "timeout", "system"]
ProviderErrorKind = Literal[
    "auth",
    "bad_request",
    "not_found",
    "overflow",
    "rate_limit",
    "overloaded",
    "server",
    "timeout",
    "connection",
    "cut",
    "refused",
    "missing",
    "replay",
]

#: Kinds of provider errors for which the same request may succeed later.
TRANSIENT: frozenset[ProviderErrorKind] = frozenset(
    {"rate_limit", "overloaded", "server", "timeout", "connection", "cut"}
)


class ClawError(Exception):
    """Something that claw_nb refuses or cannot do.

    ``message`` says what happened, ``hint`` what the reader can do next (may be empty).
    Attributes survive pickling.
    """

    def __init__(self, message: str, *, hint: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        for name, value in facts.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, dict(self.__dict__)))


def _rebuild(kind: type[ClawError], args: tuple[Any, ...], facts: dict[str, Any]) -> ClawError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class InvalidInput(ClawError, ValueError):
    """What was asked for cannot be understood: an unknown word, a bad cron expression."""


class NotFound(ClawError, LookupError):
    """Nothing has that name or id."""


class Conflict(ClawError):
    """Somebody else changed it, or it already exists."""


class ConfigError(ClawError, ValueError):
    """The settings cannot be read or do not fit together."""


class StoreError(ClawError, OSError):
    """The data home cannot be read or written."""


class NewerSchema(StoreError):
    """The data home was written by a newer release that this one may not touch."""


class Denied(ClawError, PermissionError):
    """A rule or a person said no."""


class ToolError(ClawError):
    """A tool call failed; the model is told the kind and the hints, and the run goes on."""

    def __init__(
        self, message: str, *, kind: ToolErrorKind = "system", hints: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, hint="\n".join(hints))
        self.kind: ToolErrorKind = kind
        self.hints = hints


class ProviderError(ClawError):
    """The model's service did not answer as asked.

    ``retry_after`` is in seconds, as the service asked for it; ``status`` is the HTTP status.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: ProviderErrorKind = kind
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in TRANSIENT
