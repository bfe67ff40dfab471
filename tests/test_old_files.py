"""Files that the version before the move into folders wrote open in this one, and go on.

`data/before_the_move/make.py` wrote them.
"""

import json
import pickle
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import lastblock as lb
from data.before_the_move.make import LOG, live, next_arms, play_fleet
from data.before_the_rooms.make import POLICY, play
from lastblock.kernels.background import compiling
from lastblock.lab.work import chunks
from processes import run_python

FOLDER = Path(__file__).parent / "data" / "before_the_move"
EXACT = Path(__file__).parent / "data" / "before_the_rooms"
OLDER = Path(__file__).parent / "data" / "before_the_checkpoints"
FIRST = Path(__file__).parent / "data" / "before_the_second_edition"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def assert_goes_on(bandit, name):
    expected = EXPECTED[name]
    assert bandit.asked == expected["asked"]
    assert [pending.id for pending in bandit.pending] == expected["pending"]
    assert dict(bandit.pulls) == expected["pulls"]
    assert next_arms(bandit) == expected["next"]


@pytest.mark.parametrize("name", ["lbsdalm", "lbsda", "swlbsda", "restarting"])
def test_state_files_go_on(name):
    assert_goes_on(lb.Bandit.load(FOLDER / f"{name}.bandit"), name)
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert_goes_on(lb.Bandit.from_json(text), name)


def test_a_state_of_another_layout_says_so():
    """Adaptive LB-SDA kept 511 rewards once, and duelled on them: its old states cannot go on."""
    told = "another layout than that of AdaptiveLBSDA here; load it with the version that wrote it"
    with pytest.raises(lb.StateFileError, match=told):
        lb.Bandit.load(OLDER / "adaptivelbsda.bandit")


def begun_before_the_second_edition():
    """The bandit in these files, made anew by the rules that it began with."""
    bandit = lb.Bandit(lb.AdaptiveLBSDA(alertness=0.065, edition=1), ["a", "b"], seed=5)
    for t in range(40):
        decision = bandit.ask()
        bandit.tell(decision, float((t + (decision.arm == "a")) % 3))
    return bandit


def test_an_adaptive_bandit_keeps_the_rules_that_it_began_with():
    """Its file says nothing of an edition; both versions agree bit for bit."""
    with compiling("never"):
        bandit = lb.Bandit.load(FIRST / "adaptivelbsda.bandit")
        fresh = begun_before_the_second_edition()
        assert bandit.policy == fresh.policy
        assert bandit.to_bytes() == fresh.to_bytes()
        again = lb.Bandit.from_bytes(bandit.to_bytes())
        assert again.policy == bandit.policy


def test_a_store_with_adaptive_bandits_goes_on(tmp_path):
    """Its events lead to its snapshot, and a program that gives the default finds its bandit."""
    path = Path(shutil.copy(FIRST / "store.db", tmp_path))
    with compiling("never"), lb.Store(path, keep_events=True) as store:
        assert store.verify("old") == 80
        bandit = store.get_or_create("old", lb.AdaptiveLBSDA(), ["a", "b"])
        assert bandit.to_bytes() == begun_before_the_second_edition().to_bytes()
        assert bandit.ask().arm in ("a", "b")
        with pytest.raises(lb.StoreError, match=r"has the policy .*edition=1.*, not .*=0\.25"):
            store.get_or_create("old", lb.AdaptiveLBSDA(0.25), ["a", "b"])


ADAPTIVE_FLEETS = """
import sys
import lastblock as lb

policy = lb.AdaptiveLBSDA(alertness=0.065, edition=1)
with lb.Fleet.open(sys.argv[1]) as fleet, lb.Fleet(policy, arms=2, size=2, seed=5) as fresh:
    assert fleet.policy == policy
    arms = fresh.ask(range(2))
    for one in (fleet, fresh):
        one.tell(range(2), arms, [1.0, 0.0])
    assert fleet.ask(range(2)).tolist() == fresh.ask(range(2)).tolist()
"""


def test_a_fleet_of_adaptive_bandits_goes_on(tmp_path):
    """Without the JIT: two decisions would take seconds to compile, twice."""
    path = shutil.copy(FIRST / "old.fleet", tmp_path)
    done = run_python("-c", ADAPTIVE_FLEETS, path, NUMBA_DISABLE_JIT=1)
    assert done.returncode == 0, done.stderr


def test_a_store_goes_on(tmp_path):
    path = Path(shutil.copy(FOLDER / "store.db", tmp_path))
    with lb.Store(path, keep_events=True) as store:
        for name, expected in EXPECTED["store"].items():
            store.verify(name)
            bandit = store.bandit(name)
            assert bandit.asked == expected["asked"]
            assert len(bandit.pending) == expected["pending"]
            fresh = lb.Bandit(bandit.policy, ["a", "b", "c"], seed=5)
            live(fresh, 100)
            bandit.tell(bandit.pending[0], 1.0)
            fresh.tell(fresh.pending[0], 1.0)
            assert next_arms(bandit) == next_arms(fresh)


@pytest.fixture
def exact():
    """What the version did that had a layout for each number of arms; nothing is compiled here."""
    with compiling("never"):
        yield json.loads((EXACT / "expected.json").read_text(encoding="utf-8"))


def test_a_state_with_room_for_five_arms_goes_on(exact):
    bandit = lb.Bandit.load(EXACT / "five.bandit")
    fresh = lb.Bandit(POLICY, list("abcde"), seed=5)
    assert play(fresh, 60) == exact["five"]["played"]
    assert fresh.state_size > bandit.state_size
    assert lb.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()
    grown = bandit.copy()
    assert play(bandit, 40) == play(fresh, 40) == exact["five"]["next"]
    grown.add_arm("f")
    assert grown.state_size == fresh.state_size
    play(grown, 40)


def test_a_store_whose_bandit_grew_before_is_whole(exact, tmp_path):
    """Its snapshot has room for six arms; replayed, the same events lead to room for eight."""
    path = Path(shutil.copy(EXACT / "store.db", tmp_path))
    with lb.Store(path, keep_events=True) as store:
        assert store.verify("grown") == 182
        bandit = store.bandit("grown")
        assert play(bandit, 40) == exact["grown"]["next"]
        for arm in "fgh":
            bandit.add_arm(arm)
            play(bandit, 10)
        store.snapshot("grown")
        assert store.verify("grown") == 182 + 80 + 3 * 21
    with lb.Store(path) as store:
        assert store.bandit("grown").to_bytes() == bandit.to_bytes()


def test_verify_still_finds_damage_after_growing(exact, tmp_path):
    path = Path(shutil.copy(EXACT / "store.db", tmp_path))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE events SET reward = reward + 1e-9 WHERE event = 101")
    database.close()
    told = "its events lead to another state than its snapshot"
    with lb.Store(path, keep_events=True) as store, pytest.raises(lb.StoreError, match=told):
        store.verify("grown")


@pytest.mark.parametrize("memory", ["full", "compact"])
def test_a_fleet_goes_on(memory, tmp_path):
    path = Path(shutil.copy(FOLDER / f"{memory}.fleet", tmp_path))
    policy = lb.LBSDALM(minimum=8, scale=0.0)
    with (
        lb.Fleet.open(path) as fleet,
        lb.Fleet(policy, arms=3, size=4, seed=5, memory=memory) as fresh,
    ):
        assert play_fleet(fresh) == EXPECTED[memory]["arms"]  # what the old version did
        for step in range(20):
            for one in (fleet, fresh):
                one.tell(range(4), EXPECTED[memory]["arms"], [float(step % 3 == 0)] * 4)
            arms = fleet.ask(range(4)).tolist()
            assert arms == fresh.ask(range(4)).tolist()
            EXPECTED[memory]["arms"] = arms
        assert fleet.pulls().tolist() == fresh.pulls().tolist()


def test_results_open():
    result = lb.lab.load(FOLDER / "lab_results" / "old")
    means = result.final.groupby("policy", observed=True)["regret"].mean()
    assert means.to_dict() == pytest.approx(EXPECTED["result"])


def test_chunks_hold_what_is_simulated_now():
    arms = [lb.Bernoulli(0.3), lb.Bernoulli(0.5)]
    world = lb.Piecewise({0: arms, 50: arms[::-1]})
    now = [
        lb.simulate(policy, world, horizon=100, replications=20, seed=1).regret
        for policy in (lb.LBSDALM(), lb.UCB1())
    ]
    files = sorted((FOLDER / "lab_results" / "chunks").rglob("*-0-20"))
    assert len(files) == 2
    then = [chunks.unpack(path.read_bytes()).regret for path in files]
    for regret in now:
        assert any(np.array_equal(regret, old) for old in then)


def test_old_names_of_classes_are_found():
    from lastblock.lab.verdicts import Verdict  # noqa: PLC0415  # a module of the past

    assert Verdict.__name__ == "Finding"


def unpickled(name):
    return pickle.loads((FOLDER / f"{name}.pickle").read_bytes())


def test_pickles_of_policies_and_worlds_open():
    policies = unpickled("policies")
    world = unpickled("world")
    assert len(policies) == 12
    for policy in policies:
        assert lb.POLICIES[type(policy).__name__] is type(policy)
    assert lb.simulate(policies[0], world, horizon=100).regret.shape[0] == 1


def test_pickles_of_what_a_bandit_hands_out_open():
    assert isinstance(unpickled("decision"), lb.Decision)
    assert isinstance(unpickled("pending")[0], lb.Pending)
    assert isinstance(unpickled("summary"), lb.Summary)
    assert isinstance(unpickled("explanation"), lb.Explanation)
    assert "LBSDALM" in str(unpickled("run"))
    assert unpickled("trace").arms.shape == (20,)


def test_the_text_of_an_old_summary_says_what_its_numbers_are():
    """Its means and intervals are of held rewards, and no fleet took part."""
    first, head, a, b, note = str(unpickled("summary")).splitlines()
    assert first == "LBSDALM(), 51 decisions, 'a' leads since decision 2"
    assert head.split() == ["arm", "state", "pulls", "out", "mean", "95", "%"]
    assert a.split() == ["a", "active", "33", "6", "0.42424", "0.253", "…", "0.59548"]
    assert b.split() == ["b", "active", "10", "2", "0.3", "0.00061055", "…", "0.59939"]
    assert note == (
        "An older version made this summary: means and intervals are of the rewards that the "
        "policy used then, the intervals for one look."
    )


def test_pickles_of_functions_open():
    functions = [lb.policy, lb.detector, lb.family, lb.simulate, lb.trace, lb.state_size]
    functions += [lb.lab.run, lb.lab.connect]
    found = unpickled("functions")
    tunings = found[len(functions) :]
    assert found == [*functions, *tunings]
    assert len(tunings) == 14
    assert set(tunings) <= set(lb.theory.TUNINGS.values())


def test_a_pickle_of_a_log_opens_and_is_that_log():
    old, fresh = unpickled("replay"), lb.Replay(LOG, propensity=0.5, time="time")
    assert repr(old) == repr(fresh)
    assert old.pairs() == fresh.pairs() == (["a", "b", "b", "a"], [0.25, 1.0, 0.5, 0.0])
    assert pickle.loads(pickle.dumps(old)).pairs() == old.pairs()
    assert old.estimate("b") == fresh.estimate("b")
    assert old.estimate(logged=[0.1, 0.2, 0.3, 0.4]) == fresh.estimate(logged=[0.1, 0.2, 0.3, 0.4])
