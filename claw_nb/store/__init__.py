"""What is kept: the log, the state, and one SQL catalogue over both."""

from claw_nb.store.store import Store

__all__ = ["Store"]
