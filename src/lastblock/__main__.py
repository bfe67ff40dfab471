"""``python -m lastblock``: the same as the program `lastblock`."""

from lastblock.cli import program

if __name__ == "__main__":
    program()
