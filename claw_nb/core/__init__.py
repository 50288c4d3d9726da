"""What everything talks in: values and protocols, standard library only."""
