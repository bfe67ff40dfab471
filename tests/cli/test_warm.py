"""``lastblock warm``, and how policies are written on the command line."""

import json

import pytest

import lastblock as lb
from lastblock.cli import main, policy_words
from lastblock.cli.failures import UserError
from lastblock.kernels import compile_cache, jit
from lastblock.live import warming
from lastblock.live.warming import Warmed, Warmth


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("LBSDAGM", lb.LBSDAGM()),
        (" UCB1 ( scale = 0.5 ) ", lb.UCB1(scale=0.5)),
        ("SWLBSDA(400)", lb.SWLBSDA(window=400)),
        ("Thompson(family='gaussian')", lb.Thompson(family="gaussian")),
        ("SWLBSDA.tuned(horizon=100, changes=2)", lb.SWLBSDA.tuned(horizon=100, changes=2)),
        ("Restarting(UCB1(), MeanShift)", lb.Restarting(lb.UCB1(), lb.MeanShift())),
        ("BestArm(starts=[0], arms=(1,))", lb.BestArm(starts=(0,), arms=(1,))),
        ("Binarized(LBSDA, low=-2.0, high=2)", lb.Binarized(lb.LBSDA(), low=-2.0, high=2.0)),
    ],
)
def test_policies_are_written_as_in_python(text, policy):
    assert repr(policy_words.read_policy(text)) == repr(policy)
    assert repr(policy_words.read_policy(str(policy))) == repr(policy)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("UBC1", "unknown policy 'UBC1'; did you mean 'UCB1'?"),
        ("UBC1(sigma=1.0)", "policy 'UBC1(sigma=1.0)': unknown policy 'UBC1'; did you mean 'UCB1'"),
        (
            "NOPE",
            "unknown policy 'NOPE'; choose from AdaptiveLBSDA, AdSwitch, AnytimeMOSS, BayesUCB,",
        ),
        ("SWLBSDA", "SWLBSDA needs window"),
        ("SWLBSDA(windo=3)", "has no parameter 'windo'; did you mean 'window'?"),
        ("SWLBSDA(window=-3)", "window"),
        ("SWLBSDA.tund(horizon=9)", "has no constructor 'tund'; did you mean 'tuned'?"),
        ("UCB1.tuned()", "UCB1 has no constructor 'tuned'; write UCB1(…)"),
        ("SWLBSDA.tuned(horizn=9)", "horizn"),
        ("UCB1(**{})", "give each parameter by its name"),
        ("UCB1(", "this is not a policy; write one such as LBSDAGM"),
        ("", "this is not a policy"),
        ("1 + 1", "'1 + 1' is not a value"),
        ("UCB1(scale=__import__('os'))", "unknown policy '__import__'"),
        ("MeanShift", "is not a policy; give one such as LBSDAGM()"),
        ("(" * 500, "this is not a policy"),
    ],
)
def test_what_is_not_a_policy(text, told):
    with pytest.raises(UserError) as raised:
        policy_words.read_policy(text)
    assert told in str(raised.value)
    assert str(raised.value).startswith(("policy", told))
    assert "\n" not in str(raised.value)


@pytest.fixture
def warmed(monkeypatch, tmp_path):
    """What `warm` was called with; it says that room 4 was there."""
    calls = []

    def pretend(policies, rooms, **options):
        calls.append((policies, rooms, options))
        rows = [(policy, room) for policy in policies for room in rooms]
        return Warmth(Warmed(policy, room, room == 4, 2.34 * (room != 4)) for policy, room in rows)

    monkeypatch.setattr(warming, "warm", pretend)
    monkeypatch.setattr(compile_cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(jit, "DISABLED", False)
    return calls


def test_warm_prints_a_table(warmed, capsys, tmp_path):
    assert main(["warm", "UCB1", "SWLBSDA(9)", "--rooms", "4, 8", "--floors"]) == 0
    ((policies, rooms, options),) = warmed
    assert (policies, rooms) == ([lb.UCB1(), lb.SWLBSDA(9)], [4, 8])
    assert options == {"floors": True, "processes": None}
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["UCB1()", "4", "was", "there"]
    assert out[-2].split() == ["SWLBSDA(window=9)", "8", "compiled", "in", "2.3", "s"]
    assert out[-1] == f"kept in {tmp_path}"


def test_warm_knows_policies_of_the_users_own(warmed, tmp_path, own_imports):
    (tmp_path / "mine.py").write_text(
        "from typing import NamedTuple\n"
        "from lastblock.kit import enqueue, policy\n"
        "@policy()\n"
        "class First(NamedTuple):\n"
        "    arm: int = 0\n"
        "    def layout(self, arms, horizon): return []\n"
        "    def start(self, s): pass\n"
        "    def plan(self, s): enqueue(s, self.arm)\n"
        "    def observe(self, s, arm, reward): pass\n"
    )
    assert main(["warm", "First(arm=1)", "--imports", str(tmp_path / "mine.py")]) == 0
    (((policy,), _, _),) = warmed
    assert repr(policy) == "First(arm=1)"


def test_warm_as_json(warmed, capsys, tmp_path):
    assert main(["warm", "UCB1", "--json", "--processes", "3"]) == 0
    assert warmed[0][1:] == ([2, 4, 8, 16], {"floors": False, "processes": 3})
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == str(tmp_path)
    assert told["code"][1] == {"policy": "UCB1()", "room": 4, "was_there": True, "seconds": 0.0}
    assert told["code"][0]["seconds"] == 2.34


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Ucb"], "unknown policy 'Ucb'"),
        (["UCB1", "--rooms", "1"], "1 must be at least 2"),
        (["UCB1", "--rooms", "2;4"], "'2;4' must be a whole number"),
        (["UCB1", "--processes", "0"], "0 must be at least 1"),
        (["First", "--imports", "none.py"], "--imports: there is no file"),
        ([], "POLICY"),
    ],
)
def test_mistakes_of_warm_are_one_line(arguments, told, capsys):
    assert main(["warm", *arguments]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_warm_where_nothing_can_be_kept(warmed, monkeypatch, capsys):
    monkeypatch.setattr(compile_cache, "cache_folder", lambda: None)
    assert main(["warm", "UCB1"]) == 2
    assert "set NUMBA_CACHE_DIR to one that can" in capsys.readouterr().err
    assert warmed == []


def test_a_policy_that_cannot_play_so_many_arms(capsys):
    assert main(["warm", "SWLBSDA(window=3)", "--rooms", "8"]) == 2
    assert "window=3 is too small for 5 arms" in capsys.readouterr().err
