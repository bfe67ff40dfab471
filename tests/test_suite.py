"""The suite of random problems: its scenarios, rivals, statistics and restarts."""

import json
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from benchmarks.suite import __main__ as command
from benchmarks.suite import halves, problems, statistics
from benchmarks.suite.problems import SuiteProblem, problem
from benchmarks.suite.rivals import ADAPTIVE, COUNTED, ORACLE, RIVALS, TUNED, knowledge_of, rivals

import lastblock as lb
from lastblock.kernels.divergences import Family
from lastblock.support.errors import ResultError
from made_results import made_result

# ---- Problems, scenarios and rivals ------------------------------------------------------------


def test_the_halves_stay_as_they_were():
    """What was published about a half belongs to these problems."""
    halves = problems.HALVES
    assert [problem(0, half).horizon for half in halves] == [33704, 84317, 23167, 10948, 6463]
    assert [problem(0, half).seed for half in halves] == [0, 4000, 1000, 2000, 3000]
    further = {problems.further_problem(i, seed).horizon for i in range(5) for seed in (10, 11)}
    assert len(further) == 10
    assert not further & {problem(i, half).horizon for i in range(5) for half in halves}


CHANGED = {  # of the old and the new means, and of the old best arm
    "rise": lambda old, new, was: new[was] == old[was] < new.max() and sum(new != old) == 1,
    "fall": lambda old, new, was: new[was] < min(old[was], new.max()) and sum(new != old) == 1,
    "irrelevant": lambda old, new, was: new[was] == new.max() and list(new == old).count(True) == 1,
    "single": lambda old, new, was: sum(new != old) == 1,
    "variance": lambda old, new, was: all(new == old),
}


def test_problems_are_what_they_say_and_scenarios():
    scenarios = halves.scenarios(replications=3)
    made = [problem(i) for i in range(problems.count())]
    assert sorted(each.kind for each in made) == sorted([*problems.KINDS] * problems.EACH)
    assert len({each.seed for each in made}) == len({each.title for each in made}) == len(made)
    for i, (each, scenario) in enumerate(zip(made, scenarios, strict=True)):
        assert scenario.name == f"adaptive-suite-development-{i:03}"
        assert (scenario.replications, scenario.seed) == (3, each.seed)
        grid = [policy.window for label, policy in scenario.policies.items() if "window" in label]
        assert grid == sorted(grid)
        assert 2 * each.environment.n_arms <= grid[0] < grid[-1] < each.horizon
        drifts = isinstance(each.environment, lb.Drifting)
        assert drifts == (each.kind in ("slow", "fast", "walk"))
        assert set(RIVALS) - set(scenario.policies) == ({ORACLE} if drifts else set())
        if drifts:
            continue
        assert each.changes == len(each.environment.changes)
        starts = scenario.policies[ORACLE].changes  # none of the further ones is reached
        assert tuple(t for t in starts if t < each.horizon) == each.environment.starts
        phases = [np.array([arm.mean for arm in arms]) for arms in each.environment.phases]
        assert (len(phases) == 1) == (each.kind == "stationary")
        check = CHANGED.get(each.kind, lambda old, new, was: all(new != old))
        for old, new in pairwise(phases):
            assert check(old, new, old.argmax()), each.title
        if each.kind in ("stationary", "few", "many", "variance", "tails"):
            for means in map(np.sort, phases):
                # The levels' range is what the family makes of [0, 1]; the worst arm is above 0.
                lead = problems.LEAD * (means[-1] - means[0]) * (1 - 1e-9)
                assert means[-1] - means[-2] >= lead


def test_worlds_without_a_change_are_for_those_that_count():
    taken = {problem(i, half).seed for half in problems.HALVES for i in range(problems.count())}
    assert len(taken) == 300
    for scenario in halves.calm_scenarios("test", replications=2):
        assert scenario.environment.changes == ()
        assert tuple(scenario.policies) == COUNTED
        assert scenario.seed not in taken


@pytest.mark.parametrize(
    ("arm", "lower", "family", "sigma"),
    [
        (lb.Bernoulli(0.4), lb.Bernoulli(0.1), Family.BERNOULLI, math.sqrt(0.24)),
        (lb.Beta(2.0, 3.0), lb.Beta(1.0, 4.0), Family.BERNOULLI, 0.2),
        (lb.Gaussian(4.0, 3.0), lb.Gaussian(2.0, 1.0), Family.GAUSSIAN, 3.0),
        (lb.Exponential(2.0), lb.Exponential(1.0), Family.EXPONENTIAL, 2.0),
        (lb.Poisson(4.0), lb.Poisson(1.0), Family.POISSON, 2.0),
        (lb.Discrete([0.0, 10.0], [0.5, 0.5]), lb.Discrete([0.0, 2.0], [0.5, 0.5]), None, 5.0),
    ],
)
def test_rivals_take_the_form_of_the_rewards(arm, lower, family, sigma):
    made = SuiteProblem("", "few", lb.Stationary([arm, lower]), 10_000, 2, 1)
    told = knowledge_of(made)
    assert told.family == family
    assert told.sigma == pytest.approx(sigma)
    field = rivals(made)
    gaussian = family not in (Family.BERNOULLI,)
    assert (field["SW-TS"].family == field["DTS"].family == Family.GAUSSIAN) == gaussian
    assert field["GLR-kl-UCB"].family == (Family.GAUSSIAN if family is None else family)
    if gaussian:
        assert field["SW-TS"].sigma == pytest.approx(sigma)
        assert field["SW-TS"].prior_mean == pytest.approx((arm.mean + lower.mean) / 2)
    scale = arm.mean - lower.mean + 2.0 * sigma if gaussian else 1.0
    plain = lb.CUSUMUCB.tuned(horizon=10_000, changes=2)
    scaled = {name: getattr(plain, name) * scale for name in ("threshold", "drift", "scale")}
    assert field["CUSUM-UCB"]._asdict() == pytest.approx({**plain._asdict(), **scaled})
    assert field[TUNED] == lb.SWLBSDA.tuned(horizon=10_000, changes=2)


def test_drifts_are_told_by_their_extremes():
    environment = lb.Drifting([lb.Poisson(1.0)] * 2, [lb.Sinusoid(5.0, 4.0, period=100)] * 2)
    told = knowledge_of(SuiteProblem("", "slow", environment, 5000, 3, 1))
    assert (told.low, told.high, told.sigma) == (1.0, 9.0, 3.0)


@pytest.mark.parametrize("text", ["0", "0-2", "3,17", "0-2,7,9-59"])
def test_numbers_are_written_as_they_are_read(text):
    assert halves.write_numbers(halves.read_numbers(text)) == text


def test_names_of_parts_are_short_and_differ():
    odd, even = (halves.name_of("test", range(i, 60, 2)) for i in (1, 0))
    assert odd != even
    assert len(odd) < 40


def test_relevant_changes_have_another_leader():
    a, b, c = [0.1, 0.9], [0.5, 0.9], [0.95, 0.9]
    phases = {100 * i: [lb.Bernoulli(p) for p in means] for i, means in enumerate([a, b, c, a, a])}
    assert halves.relevant_changes(lb.Piecewise(phases)) == [2, 3]


# ---- Statistics --------------------------------------------------------------------------------


def test_ratios_are_paired():
    rng = np.random.default_rng(1)
    luck = rng.gamma(4.0, 25.0, 4000)
    ours, theirs = 0.5 * luck + rng.normal(0.0, 1.0, 4000), luck
    ratio = statistics.log_regret_ratio(ours, theirs)
    assert math.exp(ratio.log) == pytest.approx(ours.mean() / theirs.mean())
    # Nearly all luck is shared; unpaired, the error would be that of two means.
    apart = math.hypot(*(x.std() / x.mean() / math.sqrt(x.size) for x in (ours, theirs)))
    assert ratio.se < apart / 10
    resampled = [
        math.log(ours[rows].mean() / theirs[rows].mean())
        for rows in rng.integers(4000, size=(400, 4000))
    ]
    assert ratio.se == pytest.approx(np.std(resampled), rel=0.15)  # 400 draws: 3.5 % is one s.e.
    assert ratio.low < ratio.log < ratio.high
    assert all(map(math.isnan, statistics.log_regret_ratio(ours, 0.0 * theirs)))


def test_rates_have_the_interval_of_a_poisson_count():
    assert statistics.rate_of(0, 10_000) == pytest.approx((0.0, 0.0, 3.6889), abs=1e-4)
    assert statistics.rate_of(10, 20_000) == pytest.approx((5.0, 2.3977, 9.1952), abs=1e-4)


def results_of(half="development"):
    """Two problems: in the second one the adaptive policy has half the regret of the others."""
    made = {}
    for i in (0, 5):
        given = problem(i, half)
        noise = np.array([0.9, 1.0, 1.1, 1.0])
        regrets = {label: (100.0 + k) * noise for k, label in enumerate(RIVALS)}
        regrets[ADAPTIVE] = (50.0 if i == 5 else 120.0) * np.array([1.0, 1.1, 0.9, 1.0])
        regrets["window 128"] = 80.0 * noise
        phases = len(given.environment.changes) + 1
        delays = {label: [[100, 200, 300, 200]] * phases for label in regrets}
        delays[ADAPTIVE] = [[50, 50, None, 50]] * phases
        result = made_result(
            regrets,
            horizon=given.horizon,
            changes=given.environment.changes,
            delays=delays,
            restarts={label: [2, 0, 1, 0] for label in COUNTED},
            parameters={TUNED: {"window": 400}, "window 128": {"window": 128}},
        )
        made[i] = result
    return made


def test_summary():
    found = statistics.sum_up(results_of(), [])
    assert found.about["problems"] == 2
    assert [row["policy"] for row in found.summary] == list(RIVALS)
    row = found.summary[0]
    assert row["tuned"] == pytest.approx(math.sqrt(120 / 101 * 50 / 101))
    assert row["best"] == pytest.approx(math.sqrt(120 / 80 * 50 / 80))
    assert row["tuned_low"] < row["tuned"] < row["tuned_high"]
    assert row["worst"] == pytest.approx(120 / 101)
    assert row["worst_low"] < row["worst"] < row["worst_high"]
    assert (row["won"], row["surely_won"], row["surely_lost"], row["first"]) == (0.5, 0.5, 0.0, 0.5)
    # Problem 0 is stationary: three restarts in four replications.
    assert row["false_restarts"] == pytest.approx(3e4 / (4 * problem(0).horizon))
    # Problem 5: the leader falls, and a change of the best arm is found by three of four.
    relevant = halves.relevant_changes(problem(5).environment)
    assert row["changes"] == len(relevant) > 0
    assert row["found"] == 0.75
    assert row["delay"] == 50.0
    tuned = found.summary[1]
    assert (tuned["tuned"], tuned["won"], tuned["false_restarts"]) == (1.0, 0.0, None)
    assert tuned["delay"] == 200.0
    assert set(found.ratios["best_window"]) == {128}
    kinds = found.kinds.set_index(["policy", "kind"])["ratio"]
    assert kinds[ADAPTIVE, "fall"] == pytest.approx(50 / 101)


# ---- Restarts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        lb.AdaptiveLBSDA(alertness=1.0),
        lb.GLRKLUCB(exploration=0.1, delta=0.1),
        lb.CUSUMUCB(threshold=2.0, exploration=0.1, warmup=5),
        lb.MUCB(window=20, threshold=4.0, exploration=0.3),
    ],
)
def test_restarts_are_counted(policy):
    """Arms without luck that swap twice: every detector fires, and none without a change."""
    arms = [[lb.Dirac(float(arm == best)) for arm in range(3)] for best in range(3)]
    still, swap = lb.Stationary(arms[0]), lb.Piecewise({0: arms[0], 400: arms[1], 800: arms[2]})
    found = [lb.simulate(policy, w, horizon=1200, seed=1).restarts[0] for w in (still, swap)]
    assert found[0] == 0 < found[1]
    if isinstance(policy, lb.AdaptiveLBSDA):  # the others do not keep what has changed
        bandit = lb.Bandit(policy, 3, seed=1)
        for reward in lb.trace(policy, swap, horizon=1200, seed=1).rewards:
            bandit.tell(bandit.ask(), reward)
        assert len(bandit.changes) == found[1]


# ---- The command -------------------------------------------------------------------------------


def test_the_command(monkeypatch, tmp_path, capsys):
    """Two small problems, two policies; a part leaves the whole half alone."""
    coins = [[lb.Bernoulli(p) for p in means] for means in ([0.9, 0.1, 0.9], [0.1, 0.9, 0.2])]

    def tiny(index, half="development"):
        phases = {0: coins[0]} if index == 0 else {0: coins[0], 150: coins[1]}
        kind = list(problems.KINDS)[index]
        return SuiteProblem(f"{half} {index}", kind, lb.Piecewise(phases), 300, index, 1)

    def two(made):
        return {ADAPTIVE: lb.AdaptiveLBSDA(alertness=0.5), TUNED: lb.SWLBSDA(window=60)}

    monkeypatch.setattr(halves, "problem", tiny)
    monkeypatch.setattr(statistics, "problem", tiny)
    monkeypatch.setattr(halves, "rivals", two)
    monkeypatch.setattr(halves, "windows", lambda made: {})
    monkeypatch.setattr(halves, "calm_problems", lambda: {"coins": lb.Piecewise({0: coins[0]})})
    monkeypatch.setattr(halves, "CALM_STEPS", 300)
    for module in (halves, statistics):
        monkeypatch.setattr(module, "COUNTED", (ADAPTIVE,))
    monkeypatch.chdir(tmp_path)
    arguments = ["suite", "--replications", "3", "--problems"]
    monkeypatch.setattr("sys.argv", [*arguments, "0,1"])
    command.main()
    out, _ = capsys.readouterr()
    assert "adaptive-suite, development half, problems 0-1: 2 problems, 3 replications" in out
    assert "worst case of Adaptive LB-SDA: " in out
    folder = tmp_path / "results/adaptive-suite"
    assert out.splitlines()[-1] == "results: results/adaptive-suite/development-0-1"
    assert (folder / "adaptive-suite-development-001/curves.parquet").is_file()
    one = pd.read_parquet(folder / "development-0-1/ratios.parquet")
    ratio = one.loc[(one["problem"] == 1) & (one["policy"] == ADAPTIVE), "tuned"].item()
    runs = [
        lb.simulate(p, tiny(1).environment, horizon=300, replications=3, seed=1)
        for p in two(None).values()
    ]
    assert ratio == pytest.approx(runs[0].mean()[-1] / runs[1].mean()[-1])
    calm = pd.read_csv(folder / "development-0-1/calm.csv")
    assert set(calm["policy"]) == {ADAPTIVE}
    assert calm["steps"].tolist() == [900, 900]
    again = statistics.load(folder / "development-0-1")
    assert again.about["numbers"] == [0, 1]
    pd.testing.assert_frame_equal(again.ratios, one)
    kept = {path: path.read_bytes() for path in (folder / "development-0-1").iterdir()}
    assert len(kept) == 6
    monkeypatch.setattr("sys.argv", [*arguments, "1"])
    command.main()
    assert {path: path.read_bytes() for path in (folder / "development-0-1").iterdir()} == kept
    about = json.loads((folder / "development-1/summary.json").read_text())
    assert (about["problems"], about["numbers"]) == (1, [1])
    (folder / "development-1/calm.csv").unlink()
    with pytest.raises(ResultError, match="does not hold a complete suite"):
        statistics.load(folder / "development-1")
