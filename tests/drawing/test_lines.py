"""Where the names of curves stand."""

import numpy as np
import pytest

from lastblock.drawing.lines import spread_apart


def test_names_of_curves_do_not_overlap():
    heights = [0.5, 0.5, 0.51, 0.0, 1.0, 0.98, 7.0]
    places = spread_apart(heights, 0.1)
    by_height = [places[i] for i in np.argsort(heights, kind="stable")]
    assert np.diff(by_height).min() >= 0.1 - 1e-12
    assert min(places) >= 0.0
    assert max(places) <= 1.0 + 1e-12
    assert places[3] == 0.0
    assert spread_apart([0.2, 0.8], 0.1) == [0.2, 0.8]
    assert spread_apart([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
