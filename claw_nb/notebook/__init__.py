"""What you see in Jupyter: the `%claw` magics, their output, and the live kernel for the tools."""
