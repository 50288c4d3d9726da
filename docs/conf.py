"""Sphinx builds these pages; CI turns every warning into an error."""

from importlib.metadata import version as installed_version

project = "claw_nb"
author = "claw_nb contributors"
copyright = "2026, claw_nb contributors"  # noqa: A001 - Sphinx reads this name
version = release = installed_version("claw-nb")

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings: list[str] = []

smartquotes = False  # "--session" is an option, not a dash
html_theme = "furo"
html_title = f"claw_nb {release}"
html_show_sphinx = False
