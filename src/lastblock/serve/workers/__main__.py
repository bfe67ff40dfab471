"""The program of a process that the supervisor starts: ``python -m lastblock.serve.workers``."""

from lastblock.serve.workers.processes import main

main()
