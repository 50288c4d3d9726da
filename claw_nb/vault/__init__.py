"""Secrets: the rest of the code knows their names, and asks here at the moment of use."""

from claw_nb.vault.reveal import reveal
from claw_nb.vault.safe import Vault

__all__ = ["Vault", "reveal"]
