"""Fills in the regret figures on the policies' pages: ``python -m benchmarks.figures``.

With names, ``python -m benchmarks.figures EXP3 EXP3S``, only on the pages of these policies. With
``--missing`` only the rows that a page lacks are played; the others stay as they are.
It runs every policy on the paper's four scenarios, with the paper's parameters where the paper
gives them, and otherwise with the published tunings for the known T, Γ and σ.
"""

import math
from collections.abc import Iterable
from pathlib import Path

import lastblock as lb
from benchmarks.field import HORIZON, PAPER, REPLICATIONS
from benchmarks.options import Parser
from benchmarks.pages import Place, check_marks
from lastblock.lab.scenario import Scenario
from lastblock.support.spelling import advice

PAGES = Path(__file__).parent.parent / "docs" / "policies"
NOTEBOOK = "gaussian-variance-changes-notebook"
NAMES = {NOTEBOOK: "the same, σ = 0.5 at last"}  # names on the pages that differ from the file's
SIGMA = {"gaussian-changes": 0.5, "gaussian-variance-changes": 1.0, NOTEBOOK: 1.0}


def field(scenario: Scenario) -> list:
    """Return every policy that can play a scenario, with its parameters there."""
    times = {"horizon": HORIZON, "changes": len(scenario.environment.changes)}
    sized = {**times, "arms": scenario.environment.n_arms}
    sigma = SIGMA.get(scenario.name)
    policies = [
        lb.LBSDA(),
        lb.LBSDA(reference=True),
        lb.LBSDALM(offset=50),
        lb.LBSDALM(offset=50, reference=True),
        lb.LBSDAGM(),
        lb.LBSDAGM(marks=16),
        lb.SWLBSDA.tuned(**times),
        lb.SWLBSDA.tuned(**times, reference=True),
        lb.AdaptiveLBSDA(),
        lb.AdaptiveLBSDA(alertness=0.25),
        lb.Restarting(lb.LBSDA(), lb.MeanShift()),
        lb.RBSDA(),
        lb.RBSDA(reference=True),
        lb.WRSDA(),
        lb.LDSSDA(),
        lb.DirichletSampling(),
        lb.DirichletSampling(bonus="bounded"),
        lb.DirichletSampling(bonus="quantile"),
        lb.DirichletSampling(memory=64),
        lb.SSMC(),
        lb.BESA(),
        lb.EpsilonGreedy(epsilon=0.1),
        lb.DiscountedEpsilonGreedy.tuned(horizon=HORIZON, arms=sized["arms"]),
        lb.Softmax(),
        lb.Softmax(discount=1.0 - 1.0 / math.sqrt(HORIZON)),
        lb.GradientBandit(),
        lb.GradientBandit.tuned(horizon=HORIZON),
        lb.POKER(horizon=HORIZON),
        lb.AdSwitch(horizon=HORIZON),
        lb.EXP3S.tuned(**sized, as_is=sigma is not None),
        lb.EXP3S.tuned(**sized, reference=True),
        lb.OracleRestart(lb.LBSDA(), scenario.environment),
        lb.BestArm(scenario.environment),
    ]
    if sigma is None:  # Bernoulli arms; for bounded rewards σ is half the range
        known = prior = {}
        policies += [
            lb.DirichletSampling(bonus="known"),
            lb.UCB1(),
            lb.MOSS(horizon=HORIZON),
            lb.AnytimeMOSS(),
            lb.UCBV(),
            lb.UCBTuned(),
            lb.SWUCB.tuned(**times),
            lb.SWUCB.tuned(**times, reference=True),
            lb.DUCB.tuned(**times),
            # As if they had no bounds: the range 2 in place of 1.
            lb.SWUCB.tuned(**times, sigma=0.5),
            lb.SWUCB.tuned(**times, sigma=0.5, reference=True),
            lb.DUCB.tuned(**times, sigma=0.5),
            lb.RAWUCB(sigma=0.5),
            lb.FEWA(sigma=0.5),
            lb.CUSUMUCB.tuned(**times),
            lb.MUCB.tuned(**sized),
            lb.MUCB.tuned_diminishing(horizon=HORIZON, arms=sized["arms"]),
            lb.EXP3.tuned(horizon=HORIZON, arms=sized["arms"]),
            lb.REXP3.tuned(**sized),
            lb.TsallisINF(),
            lb.TsallisINF(reduced_variance=False),
            lb.Restarting(lb.UCB1(), lb.PageHinkley()),
            lb.Restarting(lb.UCB1(), lb.RBOCPD()),
            lb.Restarting.dal(lb.LBSDA(), horizon=HORIZON),
            lb.Restarting(lb.Thompson(), lb.ADWIN(), alertness=0.0),
            lb.Restarting.dal(lb.KLUCB(), horizon=HORIZON),
            lb.Master(lb.UCB1()),
            lb.Master(lb.KLUCB()),
            lb.Master.tuned(lb.UCB1(), horizon=HORIZON),
            lb.PlayTheWinner(),
            lb.PHE(),
            lb.Giro(),
            lb.NPTS(),
            lb.Binarized(lb.Thompson(), 0.0, 1.0),
        ]
    else:
        known = {"family": "gaussian", "sigma": sigma}
        prior = {**known, "prior_sigma": sigma}
        policies += [
            lb.UCB1.gaussian(sigma),
            lb.MOSS.gaussian(HORIZON, sigma),
            lb.AnytimeMOSS(sigma=sigma),
            # Of rewards without bounds, as `tuned` of SW-UCB takes it.
            lb.UCBV(range=1.0 + 2.0 * sigma),
            lb.UCBTuned(range=1.0 + 2.0 * sigma),
            lb.SWUCB.tuned(**times, sigma=sigma),
            lb.SWUCB.tuned(**times, sigma=sigma, reference=True),
            lb.DUCB.tuned(**times, sigma=sigma),
            lb.RAWUCB(sigma=sigma),
            lb.FEWA(sigma=sigma),
        ]
    return [
        *policies,
        lb.Restarting(lb.KLUCB(**known), lb.MeanShift()),
        lb.Restarting(lb.KLUCB(**known), lb.GLR(**known)),
        lb.Restarting(lb.Thompson(**prior), lb.MeanShift()),
        lb.KLUCB(**known),
        lb.KLUCBPlusPlus(horizon=HORIZON, **known),
        lb.IMED(**known),
        lb.MED(**known),
        lb.SWKLUCB.tuned(**times, **known),
        lb.SWKLUCB.tuned(**times, **known, reference=True),
        lb.DKLUCB.tuned(**times, **known),
        lb.DKLUCB.tuned(**times, **known, reference=True),
        lb.GLRKLUCB.tuned(horizon=HORIZON, **known),
        lb.GLRKLUCB.tuned(horizon=HORIZON, **known, local=False),
        lb.GLRKLUCB.tuned_diminishing(horizon=HORIZON, **known),
        lb.GLRKLUCB.tuned_diminishing(horizon=HORIZON, **known, local=False),
        lb.GLRKLUCB.tuned_to_changes(**sized, **known),
        lb.GLRKLUCB.tuned_to_changes(**sized, **known, local=False),
        lb.Thompson(**prior),
        lb.BayesUCB(**prior),
        lb.DiscountedThompson.tuned(**times, **prior),
        lb.SlidingWindowThompson.tuned(**times, **prior),
    ]


def parameters(policy) -> str:
    """Return the parameters that differ from the defaults, as text."""
    defaults = type(policy)._field_defaults
    parts = []
    for name, value in policy._asdict().items():
        if name not in defaults or defaults[name] != value:
            text = f"{value:.4g}" if isinstance(value, float) else repr(value)
            parts.append(f"{name}={text}")
    return ", ".join(parts).replace("|", "\\|") or "defaults"


def main() -> None:
    parser = Parser(
        "figures", __doc__, "about a minute for a policy, once compiled, and half an hour for all"
    )
    names = {name.lower(): name for name in lb.POLICIES}
    parser.add_argument(
        "policies", nargs="*", type=str.lower, metavar="POLICY", help="play these policies only"
    )
    parser.add_argument("--missing", action="store_true", help="play only what the pages lack")
    options = parser.parse_args()
    chosen = options.policies
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"there is no policy {unknown[0]!r}; {advice(unknown[0], names.values())}")
    pages: dict[Place, list[tuple[Scenario, object]]] = {}
    for scenario in map(Scenario.load, (*PAPER, NOTEBOOK)):
        for policy in field(scenario):
            name = type(policy).__name__.lower()
            if not chosen or name in chosen:
                place = Place(PAGES / f"{name}.md", "figures")
                pages.setdefault(place, []).append((scenario, policy))
    check_marks(parser, *pages)
    for place, plays in pages.items():
        known = rows_of(place.page) if options.missing else {}
        keys = [(NAMES.get(each.name, each.name), parameters(policy)) for each, policy in plays]
        for key, (scenario, policy) in zip(keys, plays, strict=True):
            if key not in known:
                known[key] = figure(*key, scenario, policy)
                # After every row, so that nothing is lost if the program is stopped.
                place.fill(table(f"| {k[0]} | {k[1]} | {known[k]} |" for k in keys if k in known))


def rows_of(page: Path) -> dict[tuple[str, str], str]:
    """Return the figures that stand on a page, by scenario and parameters."""
    text = page.read_text(encoding="utf-8")
    cells = (line.strip().strip("|").split(" | ") for line in text.splitlines())
    return {(c[0].strip(), c[1]): c[2].strip() for c in cells if len(c) == 3 and "±" in c[2]}


def figure(name: str, text: str, scenario: Scenario, policy) -> str:
    """Play a policy with the parameters `text`; return its regret and the standard error."""
    run = lb.simulate(
        policy, scenario.environment, horizon=HORIZON, replications=REPLICATIONS, seed=1
    )
    found = f"{run.mean()[-1]:.2f} ± {run.standard_error()[-1]:.2f}"
    pace = run.seconds / (HORIZON * REPLICATIONS) * 1e9
    print(f"{name:<26}{type(policy).__name__:<24}{found:>20}{pace:>9.1f} ns  {text}", flush=True)
    return found


def table(rows: Iterable[str]) -> list[str]:
    """Return the table of a page, and what its figures are."""
    return [
        f"Mean final regret ± standard error, T = {HORIZON}, {REPLICATIONS} replications, seed 1",
        "(`python -m benchmarks.figures`).",
        "",
        "| scenario | parameters | regret |",
        "|---|---|---|",
        *rows,
    ]


if __name__ == "__main__":
    main()
