"""``python -m lastblock``: the same as the program `lastblock`."""

import sys

from lastblock.cli import main

if __name__ == "__main__":
    sys.exit(main())
