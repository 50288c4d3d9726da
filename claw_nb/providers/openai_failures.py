"""What the openai SDK trips over, said as a ProviderError."""

from __future__ import annotations

import httpx2
import openai

from claw_nb.core.errors import ProviderError
from claw_nb.providers.failures import MALFORMED, Endpoint


class NoEnd(Exception):
    """The stream stopped before the model did."""


FAILURES = (NoEnd, openai.OpenAIError, httpx2.HTTPError, *MALFORMED)
"""Raise ``failure(...) from None`` for these: the SDK's own error may quote the key."""


def failure(service: Endpoint, error: Exception, *, begun: bool) -> ProviderError:
    """The error for one of ``FAILURES``; ``begun`` tells that the answer had begun to come."""
    match error:
        case NoEnd():
            return service.failed("cut")
        case openai.APIStatusError():
            return service.answered(
                error.status_code,
                error.body,
                error.response.headers,
                request_id=error.request_id,
                fallback=error.message,
            )
        case openai.APITimeoutError() | httpx2.TimeoutException():
            return service.failed("timeout")
        case openai.APIConnectionError() | httpx2.HTTPError():
            cause = str(error.__cause__ or error)
            return service.failed("cut" if begun else "connection", cause)
        case openai.APIError():
            return service.answered(200, error.body, {}, fallback=error.message)
        case _:
            return service.failed("cut" if begun else "server", str(error))
