"""A bandit answers at once, in plain Python, and goes on with compiled code: the same bytes."""

import copy
import logging
import pickle
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest

import lastblock as lb
from documented import EXPLORE_FIRST
from lastblock.kernels import background, jit
from lastblock.kernels.background import SoonCompiled, compiling

POLICY = lb.LBSDAGM()
compiles = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


def play(bandit, steps, first=0):
    """Live for some steps; their rewards depend on the number of the step only."""
    for step in range(first, first + steps):
        decision = bandit.ask()
        if step % 5 == 4:
            bandit.forget(decision)
        else:
            bandit.tell(decision, float(step % 3 == 0))
    return bandit


def plain_bandit(policy=POLICY, arms=3, **options):
    with compiling("never"):
        return lb.Bandit(policy, arms, seed=1, **options)


def finish():
    """Wait until the thread has compiled everything."""
    thread = background._compiler._thread
    if thread is not None:
        thread.join()


@pytest.fixture
def soon(monkeypatch):
    """Compile in the background, even what has been compiled before."""
    monkeypatch.setattr(background, "specialised_before", lambda *_: None)
    with compiling("soon"):
        yield
        finish()


@pytest.mark.parametrize("floor", [None, 0.1])
def test_switching_at_any_step_gives_the_same_bytes(floor):
    expected = play(lb.Bandit(POLICY, 3, seed=1, floor=floor), 12).to_bytes()
    for step in range(13):
        bandit = plain_bandit(floor=floor)
        with compiling("never"):
            play(bandit, step)
        assert not bandit.is_compiled
        bandit.compile()
        assert bandit.is_compiled is not jit.DISABLED
        assert play(bandit, 12 - step, step).to_bytes() == expected


@compiles
@pytest.mark.usefixtures("soon")
def test_nobody_waits_for_the_compiler(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slowly(function, *examples):
        begun.set()
        go_on.wait()
        return jit.plain(function)  # in place of compiled code, which would take a minute

    monkeypatch.setattr(background, "specialise", slowly)
    bandit = lb.Bandit(POLICY, ["a", "b"], seed=1)
    assert begun.wait(60)
    for label in "cdef":
        bandit.add_arm(label)  # beyond its room, again and again
        play(bandit, 5)
    other = threading.Thread(target=play, args=(bandit, 20))
    other.start()
    other.join()
    assert bandit.asked == 40
    assert not bandit.is_compiled
    twins = [bandit.copy(), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))]
    assert {twin.to_bytes() for twin in twins} == {bandit.to_bytes()}
    go_on.set()
    finish()
    for twin in [*twins, bandit]:
        play(twin, 10, 40)
        assert twin.is_compiled
    assert len({twin.to_bytes() for twin in [*twins, bandit]}) == 1


def own_policy(statement):
    """A policy from outside the package that does this with a reward."""
    text = EXPLORE_FIRST.replace("s.pulls[arm] += 1", statement)
    exec(f"import signal\n{text}", {"__name__": "own"})
    return lb.POLICIES["ExploreFirst"]()


@compiles
@pytest.mark.usefixtures("soon", "own_imports")
def test_a_policy_that_cannot_be_compiled_says_so_once_and_goes_on(caplog):
    policy = own_policy("s.pulls[arm] += eval('1')")
    with caplog.at_level(logging.INFO, "lastblock"):
        bandit = lb.Bandit(policy, 2, seed=1)
        finish()
    assert "tell_live cannot be compiled for ExploreFirst" in caplog.text
    assert "ask_live is compiled for ExploreFirst" in caplog.text
    with pytest.warns(RuntimeWarning, match="ExploreFirst cannot be compiled and goes on in plain"):
        bandit.tell(bandit.ask(), 1.0)
    for _ in range(5):  # warnings are errors here
        bandit.tell(bandit.ask(), 1.0)
    assert sum(bandit.pulls.values()) == 6
    assert not bandit.is_compiled
    with pytest.raises(Exception, match="ExploreFirst cannot be compiled: "):
        lb.Bandit(policy, 2, seed=1, compiled=True)


@pytest.mark.usefixtures("own_imports")
def test_an_interrupt_in_plain_python_comes_after_the_call():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        bandit = plain_bandit(own_policy("signal.raise_signal(signal.SIGINT)"), 2)
        with compiling("never"):
            decision = bandit.ask()
            with pytest.raises(KeyboardInterrupt):
                bandit.tell(decision, 1.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert bandit.pending == ()
    assert sum(bandit.pulls.values()) == 1


def test_an_error_in_plain_python_changes_nothing(monkeypatch):
    bandit = plain_bandit()
    with compiling("never"):
        play(bandit, 7)
        decision = bandit.ask()
        for name, call in [("plan", bandit.ask), ("observe", lambda: bandit.tell(decision, 1.0))]:
            method = getattr(lb.LBSDAGM, name)

            def fail(self, s, *others, method=method):
                method(self, s, *others)
                raise RecursionError

            with monkeypatch.context() as patch:
                patch.setattr(lb.LBSDAGM, name, fail)
                with suppress(RecursionError):
                    while True:  # until a decision must begin a round
                        before = bandit.to_bytes()
                        call()
            assert bandit.to_bytes() == before
        bandit.tell(decision, 1.0)


@compiles
def test_what_plain_python_cannot_compute_is_left_to_the_compiler():
    @jit.entry
    def divide(ratios, one, zero):
        ratios[1] = 7.0
        ratios[0] = one / zero

    kernel = SoonCompiled(divide, np.zeros(2), 1.0, 0.0)
    ratios = np.zeros(2)
    with compiling("never"), pytest.raises(ZeroDivisionError):
        kernel.run(ratios, 1.0, 0.0)
    assert ratios.tolist() == [0.0, 0.0]
    with compiling("soon"):
        kernel.run(ratios, 1.0, 0.0)
        finish()
    assert ratios.tolist() == [np.inf, 7.0]


def test_plain_python_does_not_warn_of_overflows():
    bandit = plain_bandit(lb.LBSDA(), 2)
    with compiling("never"):
        for reward in (1e289, -1e289, 1e289, 1.0):
            bandit.tell(bandit.ask(), reward)
    assert sum(bandit.pulls.values()) == 4
