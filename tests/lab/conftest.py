"""Everyday results and odd ones, and their report."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from small_runs import ENV, FIRST, HORIZON, HOSTILE, MEMORY, ODD, PNG, SECOND, SVG, WINDOW

import lastblock as lb
from lastblock.lab.descriptions import describe_environment
from lastblock.lab.report.page import write_report


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Everyday results and odd ones, all from the same two kernels."""
    out = tmp_path_factory.mktemp("results")

    def run(name, environment, policies, replications, **more):
        made = lb.lab.Scenario(name, environment, HORIZON, policies, replications=replications)
        return lb.lab.run(replace(made, **more), out=out)

    many = {f"a label that goes on <i>&</i> on, {'x' * k}, number {k}": WINDOW for k in range(20)}
    drifting = lb.Drifting(
        [lb.Bernoulli(0.5), lb.Bernoulli(0.5), lb.Gaussian(0.5, 0.1)],
        means=[lb.Sinusoid(0.5, 0.4, 200), lb.Table([0.2, 0.8], [0, 100]), lb.Table([0.1] * 300)],
    )
    steady = run("steady", lb.Stationary(SECOND), {"only": MEMORY}, 30)
    about = json.loads(json.dumps(steady.about))
    about["scenario"] |= {"name": "drift", "environment": describe_environment(drifting)}
    title, hostile = "Three coins", {HOSTILE: MEMORY, "b": WINDOW}
    return {
        "changing": run("changing", ENV, ODD, 60, title=title, source=f'title = "{title}"'),
        "steady": steady,
        "single": run("single", lb.Stationary(FIRST), {"a": WINDOW, "b": MEMORY}, 1),
        "many": run("many", ENV, many, 60),
        "hostile": run("hostile", lb.Stationary(SECOND), hostile, 2, title=HOSTILE, source=HOSTILE),
        "drift": replace(steady, about={**about, "lai_robbins": None}),
    }


@pytest.fixture(scope="session")
def page_path(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    frame = pd.DataFrame({"policy": ["LB-SDA", "<b>"], "T = 10³": [12, 3], "ns": [1.5, None]})
    commands = ["lastblock reproduce --replications 60", "lastblock report"]
    everything = [results[name] for name in ("changing", "steady", "single", "many", "drift")]
    return write_report(path, everything, table1=frame, takeover=SVG, means=PNG, commands=commands)
