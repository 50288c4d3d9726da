"""The embedded default: no language model, but a small interpreter of a few plain commands."""

from claw_nb.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
