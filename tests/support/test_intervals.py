"""Reaches of intervals, and the confidence that users give."""

import math

import pytest
from scipy import stats

from lastblock.support.intervals import check_confidence, student_reach


@pytest.mark.parametrize("freedom", [5, 8.5, 30, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_students_quantile(freedom, confidence):
    expected = stats.t.ppf(0.5 + confidence / 2, freedom)
    assert student_reach(confidence, freedom) == pytest.approx(expected, rel=0.01)
    assert student_reach(confidence, 0.5) == student_reach(confidence, 3.0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, math.nan, "much"])
def test_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match="confidence="):
        check_confidence(confidence)
