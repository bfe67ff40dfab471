"""Plain JSON values from dataclasses, arrays, tuples, and numbers that JSON does not have."""

import dataclasses
import datetime
import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from lastblock.support.json_safe import json_fields, json_safe


@dataclasses.dataclass(frozen=True)
class Pair:
    low: float
    high: float


class Point(NamedTuple):
    x: float
    y: int


@dataclasses.dataclass(frozen=True)
class Told:
    pair: Pair
    hidden: object

    def to_dict(self) -> dict[str, object]:
        return json_fields(self, leave_out=("hidden",))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.bool_(False), False),
        (3, 3),
        (np.int64(3), 3),
        (2.5, 2.5),
        (np.float32(0.5), 0.5),
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
        (np.float64("nan"), None),
        ("text", "text"),
        ((1, "a", math.nan), [1, "a", None]),
        ({1: (2.0,), "b": math.inf}, {"1": [2.0], "b": None}),
        (np.array([[1.0, np.nan], [np.inf, 2.0]]), [[1.0, None], [None, 2.0]]),
        (np.array(4), 4),
        (Pair(1.0, math.inf), {"low": 1.0, "high": None}),
        (Point(math.nan, 2), {"x": None, "y": 2}),
        ([Told(Pair(0.0, 1.0), object())], [{"pair": {"low": 0.0, "high": 1.0}}]),
        (datetime.date(2024, 5, 6), "2024-05-06"),
        (datetime.datetime(2024, 5, 6, tzinfo=datetime.UTC), "2024-05-06T00:00:00+00:00"),
        (datetime.timedelta(seconds=90), 90.0),
        (Path("a/b"), str(Path("a/b"))),
        (range(3), [0, 1, 2]),
    ],
)
def test_values(value, expected):
    found = json_safe(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found, allow_nan=False)) == expected


@pytest.mark.parametrize("value", [object(), Pair, b"bytes", 1j])
def test_values_without_a_form(value):
    with pytest.raises(TypeError, match="has no form in JSON"):
        json_safe(value)
