"""Traces of runs for OpenTelemetry: off unless asked for, and nothing is imported until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claw_nb.core.errors import ConfigError

if TYPE_CHECKING:
    from claw_nb.telemetry.spans import Content
    from claw_nb.telemetry.traces import Traces

__all__ = ["over_otlp"]


def over_otlp(endpoint: str | None, *, content: Content = "none") -> Traces:
    """Traces that are sent over OTLP/HTTP; raises ConfigError when the extra is not installed.

    Without an ``endpoint`` the standard variables (``OTEL_EXPORTER_OTLP_ENDPOINT`` ...) name it.
    """
    try:
        from claw_nb.telemetry.traces import Traces  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"traces need the package {error.name}, which is not installed",
            hint="pip install 'claw-nb[otel]', or set telemetry.export to off.",
        ) from error
    return Traces.over_otlp(endpoint, content=content)
