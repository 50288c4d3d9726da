"""Who serves the chat-completions API, and how each is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import openai

from claw_nb.core.errors import ProviderError
from claw_nb.providers.failures import Endpoint

OPENAI_URL = "https://api.openai.com/v1"
API_VERSION = "2025-01-01-preview"
"""Azure's version of the API when none is set."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """One service. ``client`` opens a connection, ``newest`` knows ``max_completion_tokens``."""

    name: str
    label: str
    url: str
    variable: str
    client: Callable[[], openai.AsyncOpenAI]
    newest: bool
    secret: str = field(default="", repr=False)

    def endpoint(self, model: str) -> Endpoint:
        """The words of this service's errors."""
        return Endpoint(
            label=self.label,
            model=model,
            url=self.url,
            variable=self.variable,
            secret=self.secret,
        )


def openai_host(*, api_key: str | None = None, base_url: str | None = None) -> Host:
    """OpenAI itself, or whoever speaks its API at ``base_url``."""
    url = base_url or OPENAI_URL
    return Host(
        name="openai",
        label="OpenAI" if base_url is None else f"the service at {base_url}",
        url=url,
        variable="OPENAI_API_KEY",
        client=lambda: openai.AsyncOpenAI(
            api_key=api_key or "not-needed", base_url=base_url, max_retries=0
        ),
        newest=(urlsplit(url).hostname or "").endswith("openai.com"),
        secret=api_key or "",
    )


def azure_host(
    *, api_key: str | None = None, base_url: str | None = None, api_version: str | None = None
) -> Host:
    """A resource of Azure OpenAI. What it serves is named by the deployment, not by the model."""
    if not base_url:
        raise ProviderError(
            "azure-openai needs the address of your resource",
            kind="missing",
            hint="Set it: `claw config set provider.base_url https://NAME.openai.azure.com`, or "
            "AZURE_OPENAI_ENDPOINT.",
        )
    url = _resource(base_url)
    return Host(
        name="azure-openai",
        label=f"Azure OpenAI at {url}",
        url=url,
        variable="AZURE_OPENAI_API_KEY",
        client=lambda: openai.AsyncAzureOpenAI(
            azure_endpoint=url,
            api_key=api_key or "not-needed",
            api_version=api_version or API_VERSION,
            max_retries=0,
        ),
        newest=True,
        secret=api_key or "",
    )


def _resource(address: str) -> str:
    """The resource's address; what the portal shows goes on with a path and a query."""
    parts = urlsplit(address)
    path = parts.path.partition("/openai")[0].rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
