"""Work while you are away: what runs, when it runs, and how a run is kept."""

from claw_nb.tasks.tasks import Tasks

__all__ = ["Tasks"]
