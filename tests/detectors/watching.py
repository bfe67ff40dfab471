"""What a detector notices of a list of rewards."""

import numpy as np

from lastblock.core.layout import record
from lastblock.kernels.jit import specialise
from lastblock.testing.detectors import Noticed, watch
from lastblock.testing.worlds import ARMS


def noticed_by(detector, arms, rewards):
    """Each alarm: the number of rewards, the arm's since the change, its mean before and since."""
    n = len(rewards)
    states = np.zeros(1, record(detector.layout(ARMS)))
    noticed = Noticed(np.empty(n, np.uint8), np.empty(n, np.int64), np.empty(n), np.empty(n))
    arguments = detector, states, np.asarray(arms), np.asarray(rewards, np.float64), noticed
    specialise(watch, *arguments)(*arguments)
    return [
        (i + 1, int(noticed.size[i]), float(noticed.old[i]), float(noticed.new[i]))
        for i in np.flatnonzero(noticed.alarm).tolist()
    ]
