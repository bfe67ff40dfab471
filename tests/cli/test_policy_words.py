"""How policies are written on the command line."""

import pytest

import lastblock as lb
from lastblock.cli import policy_words
from lastblock.cli.failures import UserError


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
        ("UBC1(sigma=1.0)", "policy 'UBC1(sigma=1.0)': unknown policy 'UBC1'; did you mean 'UCB1'"),
        ("SWLBSDA", "SWLBSDA needs window"),
        ("SWLBSDA(windo=3)", "has no parameter 'windo'; did you mean 'window'?"),
        ("SWLBSDA.tund(horizon=9)", "has no constructor 'tund'; did you mean 'tuned'?"),
        ("UCB1.tuned()", "UCB1 has no constructor 'tuned'; write UCB1(…)"),
        ("SWLBSDA.tuned(horizn=9)", "horizn"),
        ("UCB1(**{})", "give each parameter by its name"),
        ("UCB1(", "this is not a policy; write one such as LBSDAGM"),
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
