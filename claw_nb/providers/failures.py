"""What went wrong at a model's service, said as a ProviderError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from claw_nb.core.clock import Clock, now
from claw_nb.core.errors import ProviderError, ProviderErrorKind
from claw_nb.core.redact import redact

_BY_STATUS: Mapping[int, ProviderErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",
    413: "overflow",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

#: The names that both vendors give to errors, also inside a stream that began with status 200.
_BY_NAME: Mapping[str, ProviderErrorKind] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "auth",
    "insufficient_quota": "auth",
    "not_found_error": "not_found",
    "model_not_found": "not_found",
    "request_too_large": "overflow",
    "context_length_exceeded": "overflow",
    "exceed_context_size_error": "overflow",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "overloaded_error": "overloaded",
    "timeout_error": "timeout",
    "api_error": "server",
    "server_error": "server",
    "invalid_request_error": "bad_request",
    "content_filter": "refused",
}

#: Anthropic; OpenAI and vLLM; llama.cpp; LM Studio and others.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|exceeds? the (?:available|model's) context"
    r"|context (?:length|window|size)[^.]{0,40}exceed|exceed[^.]{0,60}context (?:window|length|limit)"
    r"|input is too long",
    re.I,
)

_SAYS: Mapping[ProviderErrorKind, str] = {
    "auth": "{label} did not accept the key",
    "bad_request": "{label} did not accept the request",
    "not_found": "{label} does not know the model {model}, or the address is wrong",
    "overflow": "the conversation is longer than {model} can read",
    "rate_limit": "{label} asks to slow down",
    "overloaded": "{label} is overloaded",
    "server": "{label} failed",
    "timeout": "{label} took too long",
    "connection": "{label} cannot be reached",
    "cut": "{label} broke off in the middle of the answer",
    "refused": "{label} refused the request",
    "missing": "{label} is not installed",
}

_HINTS: Mapping[ProviderErrorKind, str] = {
    "auth": "Check the key in {variable} or the setting provider.api_key, and the account's credit.",
    "bad_request": "Another model may accept it: `claw config set model NAME`.",
    "not_found": "Check the settings provider.model and provider.base_url (now {url}).",
    "overflow": "`%claw new` starts a fresh conversation.",
    "rate_limit": "Wait a little and ask again, or ask the vendor for a higher limit.",
    "overloaded": "Wait a little and ask again.",
    "server": "Wait a little and ask again.",
    "timeout": "Wait a little and ask again.",
    "connection": "Is it running at {url}? Check the network and the setting provider.base_url.",
    "cut": "Ask again.",
    "refused": "Ask in other words.",
}

_LONGEST = 500

#: What the SDKs trip over when a server sends something else than the API says.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, AssertionError)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Who was asked for what: the words of an error message. ``secret`` never appears in one."""

    label: str
    model: str
    url: str
    variable: str
    secret: str = ""

    def failed(
        self,
        kind: ProviderErrorKind,
        said: str = "",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> ProviderError:
        """An error of this kind; ``said`` are the service's own words."""
        facts = {"label": self.label, "model": self.model, "url": self.url}
        message = _SAYS[kind].format(**facts)
        if status is not None and status >= 400:
            message += f" (HTTP {status})"
        if said:
            message += f": {self._clean(said)}"
        hint = _HINTS.get(kind, "").format(variable=self.variable, **facts)
        return ProviderError(
            message,
            kind=kind,
            hint=hint,
            status=status,
            retry_after=retry_after,
            request_id=request_id,
        )

    def answered(
        self,
        status: int,
        body: object,
        headers: Mapping[str, str],
        *,
        request_id: str | None = None,
        fallback: str = "",
    ) -> ProviderError:
        """The error for an HTTP answer, or for an error inside a stream (status 200)."""
        error = _inner(body)
        said = str(error.get("message") or fallback)
        names = [str(error[key]) for key in ("code", "type") if error.get(key)]
        return self.failed(
            _kind(status, names, said),
            said,
            status=status if status >= 400 else None,
            retry_after=retry_after(headers),
            request_id=request_id,
        )

    def _clean(self, text: str) -> str:
        if self.secret:
            text = text.replace(self.secret, "[REDACTED:secret]")
        text = " ".join(redact(text).split())
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def service_words(error: ProviderError) -> str:
    """What the service itself said against a request, without our own words; else nothing."""
    if error.kind not in ("bad_request", "server") or error.status is None:
        return ""
    return error.message.partition(f"(HTTP {error.status}): ")[2]


def _inner(body: object) -> Mapping[str, Any]:
    """``{"error": {...}}`` or the object itself; servers that are no API send anything."""
    if isinstance(body, Mapping):
        error = body.get("error", body)
        return error if isinstance(error, Mapping) else {"message": str(error)}
    return {}


def _kind(status: int, names: list[str], said: str) -> ProviderErrorKind:
    if _TOO_LONG.search(said) and status not in (401, 403, 429):
        return "overflow"
    named = next((_BY_NAME[name] for name in names if name in _BY_NAME), None)
    if "insufficient_quota" in names or (named == "overflow" and status < 500):
        return named or "auth"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 400 <= status < 500:
        return "bad_request" if named in (None, "server") else named
    return named or "server"


def retry_after(headers: Mapping[str, str], *, clock: Clock = now) -> float | None:
    """Seconds that the service asks to wait: ``retry-after-ms``, seconds, or an HTTP date."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    given = headers.get("retry-after")
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - clock() / 1e6)
    except ValueError:
        return None
