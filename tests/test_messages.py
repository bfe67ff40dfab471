"""Messages say what was meant, in the words in which users write."""

import re

import pytest

import lastblock as lb

BERNOULLIS = [lb.Bernoulli(0.4), lb.Bernoulli(0.6)]


@pytest.mark.parametrize(
    ("policy", "written"),
    [
        (lb.Thompson(), "Thompson()"),
        (lb.Thompson("gaussian"), "Thompson(family='gaussian')"),
        (lb.SWLBSDA(window=429), "SWLBSDA(window=429)"),
        (lb.Restarting(lb.UCB1(), lb.MeanShift()), "Restarting(UCB1(), MeanShift())"),
        (lb.GLR(delta=0.1), "GLR(delta=0.1)"),
    ],
)
def test_policies_as_users_write_them(policy, written):
    assert str(policy) == f"{policy}" == written
    assert repr(policy) != written or policy == lb.SWLBSDA(window=429)


def test_where_they_are_written():
    assert str(lb.Bandit(lb.UCB1(), 2, seed=1).explain()).startswith("Round 1 of UCB1().")


HALF, WAVE = lb.Table([0.5]), lb.Sinusoid(0.8, 0.6, period=2000)
LOW = lb.Table([0.5, -0.1, 0.5], times=[0, 70, 90])
CALLS = {
    "policy='UCB1' is not a policy; did you mean UCB1()?": lambda: lb.state_size("UCB1", 3),
    "policy='zzz' is not a policy; give one such as LBSDAGM()": lambda: lb.state_size("zzz", 3),
    "detector=UCB1() is not a change detector; give one such as MeanShift()": (
        lambda: lb.Restarting(lb.UCB1(), lb.UCB1())
    ),
    "means[1] is 1.4 at time step 500, but Bernoulli: mean=1.4": (
        lambda: lb.Drifting(BERNOULLIS, means=[HALF, WAVE])
    ),
    "means[0] is -0.1 at time step 70, but Bernoulli: mean=-0.1 must lie in [0, 1]": (
        lambda: lb.Drifting(BERNOULLIS, means=[LOW, HALF])
    ),
}


@pytest.mark.parametrize("message", CALLS)
def test_what_was_meant(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        CALLS[message]()


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        (lb.Sinusoid(0.0, 1.0, period=100), (75, 25)),
        (lb.Sinusoid(0.0, -1.0, period=100), (25, 75)),
        (lb.Sinusoid(0.0, 1.0, period=100, phase=0.5), (25, 75)),
        (lb.Table([3.0, 1.0, 5.0], times=[0, 10, 30]), (10, 30)),
    ],
)
def test_when_a_path_is_lowest_and_highest(path, steps):
    assert path.extreme_times() == steps
    assert [path.at(t) for t in steps] == pytest.approx(path.extremes())


def test_a_state_file_that_is_not_there(tmp_path):
    lb.Bandit(lb.UCB1(), 2, seed=1).save(tmp_path / "colours.lastblock")
    with pytest.raises(FileNotFoundError) as error:
        lb.Bandit.load(tmp_path / "colour.lastblock")
    near = str(tmp_path / "colours.lastblock")
    assert str(error.value).endswith(f"colour.lastblock'; did you mean {near!r}?")
    for name in ("nofile", "no/where"):
        with pytest.raises(FileNotFoundError, match=rf"^there is no file '{name}'; give the name"):
            lb.Bandit.load(name)
    with pytest.raises(IsADirectoryError, match=r"is a folder; give the name of a file$"):
        lb.Bandit.load(tmp_path)
