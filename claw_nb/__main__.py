"""``python -m claw_nb`` is the ``claw`` command."""

import sys

from claw_nb.cli import main

if __name__ == "__main__":
    sys.exit(main())
