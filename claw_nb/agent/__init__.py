"""The loop: a prompt and a history go in, a stream of events comes out."""

from claw_nb.agent.agent import Agent, Limits
from claw_nb.agent.approval import ask_nobody

__all__ = ["Agent", "Limits", "ask_nobody"]
