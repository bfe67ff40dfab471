"""A scenario for tests of the commands, and what they leave in a folder."""

import re

SCENARIO = """
title = "Three coins"
horizon = 300
replications = 40

[arms]
family = "Bernoulli"
mean = [0.9, 0.1, 0.8]

[[policies]]
policy = "SWLBSDA"
label = "window"
window = 60

[[policies]]
policy = "LBSDALM"
label = "memory"
"""


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def assert_one_line(err, message):
    assert err.startswith("lastblock: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert re.search(message, err), err
