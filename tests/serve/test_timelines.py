"""A history of a fixed size: stretches merge as it gets longer."""

import numpy as np
import pytest

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.live.changes import Change
from lastblock.live.mean_rewards import mean_rewards
from lastblock.serve.dashboard import charts
from lastblock.serve.dashboard.charts import TimelineCounts, chart, coarser
from lastblock.store.event_logs import Tallied
from lastblock.store.storage import Tally
from lastblock.theory.confidence_sequences import Coins

DAY = 86_400 * 10**6


class Log:
    """Stands for a store: a decision and a reward of 1 at each of some times, arm by arm."""

    def __init__(self):
        self.times, self.labels = [], ["a", "b"]

    def tally(self, name, *, length, after=None, most):
        begin = after or 0
        new = self.times[begin:]
        size = length(float(new[-1] - new[0]) if new else 0.0)
        found = [
            Tally(time // size, (begin + k) % len(self.labels), 1, 1, 1.0, 1.0)
            for k, time in enumerate(new)
        ]
        return Tallied(list(self.labels), len(self.times), size, found, [])


def test_a_history_keeps_its_size_and_every_event():
    log = Log()
    timeline = charts.Timeline(log, "button")
    assert timeline.look().counts.shape == (0, 2, 4)
    now, rng = 1_700_000_000 * 10**6, np.random.default_rng(1)
    for look in range(40):
        log.times += [int(now + t) for t in np.sort(rng.random(20)) * 1e6 * 2.0**look]
        now = log.times[-1]
        if look == 20:
            log.labels.append("c")
        counted = timeline.look()
        assert 0 < len(counted.starts) <= charts.MOST_STRETCHES
        assert counted.length in charts.LENGTHS
        assert counted.counts[:, :, 0].sum() == counted.counts[:, :, 2].sum() == 20 * (look + 1)
        assert counted.starts[0] <= log.times[0]
        assert now < counted.starts[-1] + counted.length
        assert (np.diff(counted.starts) == counted.length).all()
    assert counted.labels == ["a", "b", "c"]


def counts_of(counts, labels):
    counts = np.asarray(counts, float)
    return TimelineCounts(labels, np.arange(len(counts)) * 10**6, 10**6, counts)


def test_a_change_is_drawn_where_its_decision_was():
    counts = np.zeros((4, 2, 4))
    counts[:, 0, 0] = 10  # ten decisions in each stretch; 60 came before the first
    change = Change(decision=85, noticed=90, arm="b", old=0.5, new=0.25)
    found = chart(counts_of(counts, ["a", "b"]), [change], 100, Support())["changes"]
    assert [(each["time"], each["arm"], each["old"], each["new"]) for each in found] == [
        (2.5, "b", 0.5, 0.25)
    ]
    assert found[0]["mark"]["colour"] == 1
    early = change._replace(decision=59)
    assert (
        chart(counts_of(counts, ["a", "b"]), [early], 100, Support())["changes"][0]["time"] is None
    )


def test_many_arms_share_a_curve():
    counts = np.zeros((2, 100, 4))
    counts[:, :, 0] = np.arange(100)
    counts[:, :, 1] = counts[:, :, 2] = counts[:, :, 3] = 1.0
    found = chart(counts_of(counts, list(range(100))), [], 9900, Support())["arms"]
    assert [arm["label"] for arm in found[:-1]] == [str(k) for k in range(90, 100)]
    assert len(found) == charts.MOST_CURVES + 1
    assert found[-1]["label"] == "90 others"
    assert sum(arm["share"][0] for arm in found) == 1.0


def test_a_stretch_has_the_interval_of_all_means():
    counts = np.zeros((3, 1, 4))
    counts[:, 0] = [[50, 40, 20.0, 20.0], [1, 1, 1.0, 1.0], [1, 0, 0.0, 0.0]]
    (arm,) = chart(counts_of(counts, ["a"]), [], 52, Support())["arms"]
    (wanted,) = mean_rewards(Coins(), [Told(40, 0.5, 10.0)])
    assert arm["mean"] == [0.5, 1.0, None]
    assert (arm["low"][0], arm["high"][0]) == pytest.approx((wanted.low, wanted.high), rel=1e-4)
    assert (arm["low"][2], arm["high"][2]) == (None, None)
    counts[:2, 0, 2:] *= 7.0  # sales, of which too few have come to say how much they vary
    (arm,) = chart(counts_of(counts, ["a"]), [], 52, Support())["arms"]
    assert arm["low"] == arm["high"] == [None] * 3
    idle = counts * [1.0, 1.0, 0.0, 0.0]  # an arm without a sale has no clicks, either
    both = counts_of(np.concatenate([counts, idle], axis=1), ["a", "b"])
    assert [each["low"] for each in chart(both, [], 52, Support())["arms"]] == [[None] * 3] * 2
    (arm,) = chart(counts_of(counts, ["a"]), [], 52, Support(0.0, 7.0))["arms"]
    assert 0.0 <= arm["low"][0] < 3.5 < arm["high"][0] <= 7.0


def test_stretches_of_few_events_are_drawn_together():
    """A day of minutes with a decision each, and clicks of five per cent; sums stay as they are."""
    starts = np.arange(1000, 1180, dtype=np.int64) * 60_000_000
    counts = np.zeros((180, 2, 4))
    counts[:, :, 0] = counts[:, :, 1] = 1.0
    counts[::20, :, 2:] = 1.0
    few = coarser(TimelineCounts(["a", "b"], starts, 60_000_000, counts))
    assert few.length == 16 * 60_000_000
    assert 11 <= len(few.starts) <= 12
    assert (np.diff(few.starts) == few.length).all()
    assert few.counts.sum(axis=0) == pytest.approx(counts.sum(axis=0))
    assert few.starts[0] <= starts[0] < few.starts[1]
    more = coarser(TimelineCounts(["a", "b"], starts, 60_000_000, counts * 100))
    assert more.length == 2 * 60_000_000  # 1800 clicks say something of 90 stretches
    many = TimelineCounts(["a", "b"], starts, 60_000_000, counts * 1000)
    assert coarser(many) is many
    none = TimelineCounts(["a"], starts[:0], 1_000_000, np.zeros((0, 1, 4)))
    assert coarser(none) is none
