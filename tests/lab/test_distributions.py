"""Histograms and tails of the final regret, in tables, figures and the report."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

import lastblock as lb
from lastblock.drawing import styles
from lastblock.lab.distributions import histogram, tail, worst_share
from lastblock.lab.figures import result_figure
from lastblock.lab.report.page import write_report
from made_results import made_result


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    light, heavy = rng.gamma(4.0, 5.0, 200), rng.pareto(1.2, 200) + 1.0
    return made_result({"light": light, "<heavy>": heavy})


def test_a_tail_is_the_share_with_at_least_so_much():
    values, shares = tail(np.array([3.0, 1.0, 3.0, 2.0]))
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert shares.tolist() == [1.0, 0.75, 0.5]


def test_a_histogram_counts_every_replication_once(result):
    regrets = {label: result.final_regret(label) for label in result.labels}
    bins = histogram(regrets)
    for label in result.labels:
        assert bins.counts[label].sum() + bins.beyond[label] == 200
    assert bins.edges[0] == 0.0
    assert bins.beyond["light"] + bins.beyond["<heavy>"] > 0
    alike = histogram({"a": np.zeros(3)})
    assert alike.counts["a"].sum() == 3


def test_the_table_of_tails(result):
    frame = lb.lab.tails(result).set_index("policy")
    heavy = result.final_regret("<heavy>")
    assert frame.loc["<heavy>", "q99"] == np.quantile(heavy, 0.99)
    assert frame.loc["<heavy>", "max"] == heavy.max()
    assert frame.loc["<heavy>", "worst_share"] == np.sort(heavy)[-2:].sum() / heavy.sum()
    assert frame.loc["light", "worst_share"] < 0.05 < frame.loc["<heavy>", "worst_share"]
    assert frame.equals(result.tails().set_index("policy"))
    assert worst_share(np.ones(1000)) == pytest.approx(0.01)
    assert np.isnan(worst_share(np.zeros(3)))


def test_the_figures_have_every_policy_and_say_what_they_leave_out(result, tmp_path):
    (panel,) = result.plot(tmp_path / "h.svg", kind="histogram").axes
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["<heavy>", "light"]
    assert any("→" in text.get_text() for text in panel.texts)
    (panel,) = result.plot(tmp_path / "t.svg", kind="tail").axes
    look = styles.looks(result.policy_names)["<heavy>"]
    drawn = [line for line in panel.lines if to_hex(line.get_color()) == look.colour.lower()]
    x, share = tail(result.final_regret("<heavy>"))
    assert any(np.array_equal(line.get_ydata(), share) for line in drawn)
    assert panel.get_xscale() == "log"
    assert panel.get_xlim()[1] > x.max()
    close = made_result({"a": [3.0, 4.0, 5.0], "b": [3.0, 4.0, 6.0]})
    assert result_figure(close, kind="tail").axes[0].get_xscale() == "linear"
    assert result_figure(made_result({"a": [0.0]}), kind="tail").axes
    assert result_figure(made_result({"a": [0.0]}), kind="histogram").axes


def test_one_policy_has_one_look_in_all_figures_of_a_report(tmp_path):
    """Two policies would both like the same colour; only one of them meets a third."""
    names = [f"Own{i}" for i in range(40)]
    colour = {name: styles.looks({name: name})[name].colour for name in names}
    first = names[0]
    second = next(name for name in names[1:] if colour[name] == colour[first])
    found = styles.looks_together([{"a": first, "b": second}, {"b": second}])
    assert found[0]["b"] == found[1]["b"] != styles.looks({"b": second})["b"]

    both, alone = made_result({"a": [1.0, 2.0], "b": [2.0, 3.0]}), made_result({"b": [2.0, 4.0]})
    both.policies["name"], alone.policies["name"] = [first, second], [second]
    panels = result_figure([both, alone]).axes
    assert to_hex(panels[1].lines[0].get_color()) == found[0]["b"].colour.lower()
    (panel,) = result_figure(alone, beside=[both]).axes
    assert to_hex(panel.lines[0].get_color()) == found[0]["b"].colour.lower()
    page = write_report(tmp_path / "report.html", [both, alone]).read_text()
    marks = re.findall(r'--c:([^"]+)"><use href="#mark-(\w+)"/></svg><span>b<', page)
    assert len(marks) > 4
    assert len(set(marks)) == 1


def test_a_policy_with_other_labels_or_beside_others_keeps_its_look():
    """Thirty policies, each in a figure with all, in one with few, and in one by another name."""
    own = {f"{i}": f"Own{i}" for i in range(28)} | {"window 9": "SWLBSDA", "window 90": "SWLBSDA"}
    few = [dict(list(own.items())[i::7]) for i in range(7)]
    renamed = [
        {f"my {label}": own[label] for label in figure if own[label] != "SWLBSDA"} for figure in few
    ]
    *parts, whole = styles.looks_together([*few, *renamed, own])
    assert len(set(whole.values())) == 30
    for figure in parts:
        assert all(look == whole[label.removeprefix("my ")] for label, look in figure.items())


def test_the_report_draws_histograms_and_tails(result, tmp_path):
    page = write_report(tmp_path / "report.html", [result]).read_text()
    assert "Distribution of the final regret" in page
    for kind in ("Histogram", "Tail"):
        assert re.search(rf'<img src="data:image/png[^"]*" alt="{kind} of the final regret:', page)
    single = made_result({"a": [1.0]})
    assert "Distribution" not in write_report(tmp_path / "one.html", [single]).read_text()
    none = made_result({"a": [0.0, 0.0], "b": [0.0, 0.0]})
    assert "Distribution" in write_report(tmp_path / "none.html", [none]).read_text()
