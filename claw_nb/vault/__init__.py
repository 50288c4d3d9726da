"""Secrets: the rest of the code knows their names, and asks here at the moment of use."""

from claw_nb.vault.reveal import reveal

__all__ = ["reveal"]
