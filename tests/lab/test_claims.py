"""Claims: seen only where the figures are significant."""

import numpy as np
import pytest

from lastblock.lab.claim_checks import best
from lastblock.lab.claims import Claim
from lastblock.support.errors import ScenarioError
from made_results import made_result


def claim(check, *policies, margin=None):
    return Claim("…", check, policies, margin)


def result(n=400, **means):
    """Policies with these mean regrets and a spread of 10, on common draws (half of the spread)."""
    rng = np.random.default_rng(7)
    luck = rng.normal(0, 7, n)
    noise = {label: rng.normal(0, 7, n) for label in means}
    centred = {label: x - x.mean() + luck - luck.mean() for label, x in noise.items()}
    return made_result({label: mean + centred[label] for label, mean in means.items()})


SMALL, LARGE = 12, 4000


def test_best():
    clear = result(a=100, b=110, c=120)
    verdict = claim("best", "a").judge(clear)
    assert verdict.seen
    assert verdict.figures == "a 100.00 ± 0.46, next b 110.00 ± 0.47"
    wrong = claim("best", "b").judge(clear)
    assert not wrong.seen
    assert wrong.figures == "b 110.00 ± 0.47, but a 100.00 ± 0.46; b is behind a"
    unclear = claim("best", "a").judge(result(n=SMALL, a=100, b=101, c=150))
    assert not unclear.seen
    assert "next b 101" in unclear.figures
    assert unclear.figures.endswith("is not significant")
    assert "a − b = −1.00 [−" in unclear.figures


def test_best_by_a_margin():
    clear = result(n=LARGE, a=70, b=100, c=200)
    seen = claim("best", "a", margin=0.8).judge(clear)
    assert seen.seen
    assert "70.0% [69." in seen.figures
    assert "of b" in seen.figures
    not_seen = claim("best", "a", margin=0.7).judge(clear)  # the interval is on both sides of it
    assert not not_seen.seen
    assert not_seen.figures.endswith("not below 70%")


def test_last():
    clear = result(a=100, b=110, c=120)
    verdict = claim("last", "c").judge(clear)
    assert verdict.seen
    assert verdict.figures.startswith("c 120.00 ± 0.")
    assert ", next b 110.00" in verdict.figures
    assert not claim("last", "b").judge(clear).seen
    assert "but c 120.00" in claim("last", "b").judge(clear).figures
    assert not claim("last", "c").judge(result(n=SMALL, a=100, b=119, c=120)).seen


def test_leading():
    clear = result(a=100, b=101, c=120, d=130)
    verdict = claim("leading", "b", "a").judge(clear)
    assert verdict.seen
    assert verdict.figures.startswith("a 100.00")
    assert "next c 120.00" in verdict.figures
    assert not claim("leading", "a", "c").judge(clear).seen
    assert not claim("leading", "a").judge(result(n=SMALL, a=100, b=101, c=120)).seen


def test_order():
    clear = result(a=100, b=110, c=120)
    assert claim("order", "a", "b", "c").judge(clear).seen
    assert not claim("order", "a", "c", "b").judge(clear).seen
    assert claim("order", "a", "c", "b").judge(clear).figures.endswith("c is behind b")
    assert not claim("order", "a", "b").judge(result(n=SMALL, a=100, b=101)).seen


def test_close():
    clear = result(n=LARGE, a=108, b=100)
    verdict = claim("close", "a", "b", margin=0.1).judge(clear)
    assert verdict.seen
    assert ": +8.0% [+7." in verdict.figures
    far = claim("close", "a", "b", margin=0.05).judge(clear)
    assert not far.seen
    assert far.figures.endswith("not within ±5%")
    unclear = claim("close", "a", "b", margin=0.1).judge(result(n=SMALL, a=108, b=100))
    assert not unclear.seen
    assert unclear.figures.endswith("more than ±10% is not ruled out")
    assert claim("close", "b", "a", margin=0.1).judge(clear).seen  # −7.4 %
    assert not claim("close", "b", "a", margin=0.05).judge(clear).seen


def test_widest():
    rng = np.random.default_rng(8)
    regrets = {"a": rng.normal(0, 3, 500), "b": rng.normal(0, 1, 500), "c": rng.normal(0, 1.1, 500)}
    verdict = claim("widest", "a").judge(made_result(regrets))
    assert verdict.seen
    assert "next c" in verdict.figures
    wrong = claim("widest", "c").judge(made_result(regrets))
    assert not wrong.seen
    assert "but a" in wrong.figures
    few = {label: x[:8] for label, x in regrets.items() if label != "a"}
    order = sorted(few, key=lambda label: np.subtract(*np.quantile(few[label], [0.75, 0.25])))
    unclear = claim("widest", order[-1]).judge(made_result(few))
    assert not unclear.seen
    assert unclear.figures.endswith(f"not significantly wider than {order[0]}")


ALL = [
    claim("best", "a"),
    claim("best", "a", margin=0.5),
    claim("last", "b"),
    claim("leading", "a"),
    claim("order", "a", "b"),
    claim("close", "a", "b", margin=0.5),
    claim("widest", "a"),
]


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.check)
@pytest.mark.parametrize(
    "regrets",
    [
        {"a": [1.0], "b": [100.0]},
        {"a": [0.0, 0.0], "b": [0.0, 0.0]},
        {"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]},
        {"a": [0.0, 9.0], "b": [2.0, 2.0]},
    ],
    ids=["one", "zero", "level", "two"],
)
def test_little_data_shows_little(one, regrets):
    """No crash, no warning, and nothing is seen, except that equal regrets are close."""
    seen, figures = one.judge(made_result(regrets))
    assert seen == (one.check == "close" and regrets["a"] == [1.0] * 3)
    assert "nan" not in figures
    assert "inf" not in figures


def test_alone_in_a_result():
    for check in ("best", "last", "leading", "widest"):
        assert not claim(check, "a").judge(made_result({"a": [1.0, 2.0]})).seen


def test_false_alarms_are_rare():
    """Of two equal policies one is seen as the best in at most 2.5 % of the cases each."""
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(1000):
        a, b = rng.normal(0, 1, (2, 20))
        seen += best({"a": a, "b": b}, ["a"], None).seen
    assert seen / 1000 < 0.025 + 3 * 0.005


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bestt", "a"), "unknown check 'bestt'; did you mean 'best'"),
        (("zzz", "a"), "choose from best, last, leading, order, close, widest"),
        (("best",), "'best' needs 1 policy, not"),
        (("best", "a", "b"), "'best' needs 1 policy"),
        (("order", "a"), "'order' needs 2 or more different policies"),
        (("order", "a", "a"), "'order' needs 2 or more different policies"),
        (("close", "a", "b"), "'close' needs a margin"),
    ],
)
def test_impossible_claims(arguments, message):
    with pytest.raises(ScenarioError, match=message):
        claim(*arguments)


def test_impossible_margins():
    with pytest.raises(ScenarioError, match="margin=-1 must be positive"):
        claim("close", "a", "b", margin=-1)
    with pytest.raises(ScenarioError, match="must be a number"):
        claim("close", "a", "b", margin="wide")
    with pytest.raises(ScenarioError, match="'last' takes no margin"):
        claim("last", "a", margin=0.5)


def test_a_policy_that_is_not_there():
    with pytest.raises(ScenarioError, match="names the policy 'z', which is not one of a, b"):
        claim("best", "z").judge(made_result({"a": [1.0], "b": [1.0]}))
