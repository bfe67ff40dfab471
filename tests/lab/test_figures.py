"""Figures: what is in them, and the files they become."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_hex

import lastblock as lb
from lastblock.drawing import styles
from lastblock.lab.figures import means_figure, result_figure, takeover_figure
from lastblock.lab.scenario_files import reading
from lastblock.support.errors import ResultError
from made_results import made_result

SIGNS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    regrets = {label: rng.gamma(20.0, size / 20, 50) for label, size in SIZES.items()}
    return made_result(regrets, changes=[30, 60])


SIZES = {"SW-LB-SDA": 100.0, "SW-TS": 120.0, "<EXP3.S>": 300.0}


def texts(figure):
    return [text.get_text() for panel in figure.axes for text in panel.texts]


def lines(panel):
    """The curves, by colour: those in the panel's own coordinates."""
    return {
        to_hex(line.get_color()): line
        for line in panel.lines
        if line.get_transform() == panel.transData and len(line.get_xdata()) > 2
    }


def test_regret_figure_has_lines_bands_and_changes(result):
    (panel,) = result.plot().axes
    drawn = lines(panel)
    for label, look in styles.looks(result.policy_names).items():
        curve = result.curves[result.curves["policy"] == label]
        line = drawn[look.colour.lower()]
        assert (line.get_xdata() == curve["t"]).all()
        assert (line.get_ydata() == curve["mean"]).all()
    bands = [band.get_paths()[0].vertices for band in panel.collections]
    for (_, curve), band in zip(result.curves.groupby("policy", observed=True), bands, strict=True):
        assert {*curve["q25"], *curve["q75"]} <= {*band[:, 1]}
    vertical = [line.get_xdata()[0] for line in panel.lines if len(set(line.get_xdata())) == 1]
    assert vertical == [30, 60]
    names = " ".join(texts(panel.figure))
    assert all(label in names for label in SIZES)
    assert "mean of 50 replications; band: quartiles" in names
    assert "Lai" not in names
    assert "off the scale" not in names
    assert panel.get_ylabel() == "regret"
    assert panel.get_ylim()[0] == 0.0
    assert panel.get_ylim()[1] > result.curves["q75"].max()


def test_curves_differ_in_more_than_colour():
    """For colour-blind eyes and in grey print."""
    many = list(styles.looks([str(i) for i in range(32)]).values())
    assert len(set(many)) == 32
    assert len({(look.marker, look.dash) for look in many}) == 32
    assert len({look.colour for look in many[:8]}) == len({look.marker for look in many[:8]}) == 8
    twice = styles.looks({str(i): "SWLBSDA" for i in range(32)})  # all but the first take free ones
    assert twice["0"] == styles.looks({"x": "SWLBSDA"})["x"]
    assert len({look.colour for look in list(twice.values())[:8]}) == 8


def test_the_colours_of_the_papers_figures_differ():
    for name in reading.names():
        scenario = lb.lab.Scenario.load(name)
        found = styles.looks({k: type(p).__name__ for k, p in scenario.policies.items()})
        assert len({look.colour for look in found.values()}) == len(found)


def test_the_bound_is_drawn_where_there_is_one(result):
    bounded = made_result({"a": [3.0, 4.0]}, lai_robbins=2.0)
    (panel,) = result_figure(bounded).axes
    line = lines(panel)["#000000"]
    assert line.get_ydata() == pytest.approx(2.0 * np.log(line.get_xdata()))
    assert line.is_dashed()
    assert any("Lai–Robbins bound: 2.00 log t" in text for text in texts(panel.figure))
    assert panel.get_ylim()[1] > 2.0 * np.log(100)


def test_a_curve_far_above_the_others_is_cut_and_said_so():
    far = made_result({"a": [10.0, 11.0], "b": [12.0, 13.0], "far": [900.0, 1000.0]})
    (panel,) = result_figure(far).axes
    assert 13.0 < panel.get_ylim()[1] < 20.0
    assert "far  950 ↑ off the scale" in texts(panel.figure)
    half = made_result({"a": [10.0], "b": [12.0], "c": [900.0], "d": [901.0]})
    assert result_figure(half).axes[0].get_ylim()[1] > 901.0
    two = made_result({"a": [10.0], "b": [1000.0]})
    assert result_figure(two).axes[0].get_ylim()[1] > 1000.0


def test_best_arm_figure_has_shares_over_time(result):
    (panel,) = result.plot(kind="best-arm").axes
    assert panel.get_ylabel() == "pulls of a best arm"
    line = lines(panel)[styles.looks(result.policy_names)["SW-LB-SDA"].colour.lower()]
    curve = result.curves[result.curves["policy"] == "SW-LB-SDA"]
    steps = np.diff(curve["t"], prepend=0)
    drawn = np.diff(line.get_xdata(), prepend=0)
    total = (line.get_ydata() * drawn).sum()
    assert total == pytest.approx((curve["best_share"] * steps).sum())
    assert line.get_xdata()[-1] == 100
    assert panel.get_ylim() == (0.0, 1.02)


def test_noise_of_few_pulls_is_averaged():
    result = made_result({"a": [1.0]}, horizon=100_000)
    result.curves["best_share"] = np.tile([0.0, 1.0], len(result.curves))[: len(result.curves)]
    (panel,) = result_figure(result, kind="best-arm").axes
    (line,) = lines(panel).values()
    assert np.diff(line.get_xdata()).min() > 500


def test_one_panel_a_result(result):
    figure = result_figure([result] * 3)
    assert sum(panel.get_visible() for panel in figure.axes) == 3
    assert [panel.get_title(loc="left") for panel in figure.axes[:3]] == ["Made"] * 3
    with pytest.raises(ResultError, match="there is nothing to draw"):
        result_figure([])


def test_means_figure_steps_at_changes():
    scenario = lb.lab.Scenario.load("bernoulli-changes")
    (panel,) = means_figure(scenario).axes
    first = lines(panel)[styles.COLOURS[0].lower()]
    t, y = first.get_xdata(), first.get_ydata()
    for time, mean in [(0, 0.5), (2980, 0.5), (3020, 0.3), (4980, 0.3), (5020, 0.5), (10_000, 0.5)]:
        assert y[np.flatnonzero(t == time)].tolist() == [mean]
    at_change = y[t == 3000]  # the old mean, a gap, the new one
    assert at_change[0] == 0.5
    assert np.isnan(at_change[1])
    assert at_change[-1] == 0.3
    assert "arm 3" in texts(panel.figure)


def test_means_figure_tells_deviations_that_change():
    names = ("gaussian-changes", "gaussian-variance-changes")
    constant, varied = map(lb.lab.Scenario.load, names)
    assert not any("σ" in text for text in texts(means_figure(constant)))
    notes = [text for text in texts(means_figure(varied)) if "σ" in text]
    assert notes == ["σ = 0.5", "σ = 0.25", "σ = 1", "σ = 0.25"]


def test_means_figure_of_arms_that_drift():
    paths = [lb.Sinusoid(0.5, 0.4, period=500), lb.Table([0.2, 0.8], times=[0, 1000])]
    environment = lb.Drifting([lb.Bernoulli(0.5), lb.Gaussian(0.5, 0.1)], means=paths)
    scenario = lb.lab.Scenario("drift", environment, 1000, {"a": lb.UCB1()})
    (panel,) = means_figure(scenario).axes
    line = lines(panel)[styles.COLOURS[0].lower()]
    expected = 0.5 + 0.4 * np.sin(2 * np.pi * line.get_xdata() / 500)
    assert line.get_ydata() == pytest.approx(expected)


def test_takeover_figure_shows_both_rules():
    figure = takeover_figure()
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert [title.splitlines()[1] for title in titles] == [f"arm {n} leads" for n in (1, 2, 1)]
    counted = [texts(figure).count(text) for text in ("3 pulls", "2 pulls", "loses its duel")]
    assert [*counted, texts(figure).count("wins: pulled")] == [4, 5, 1, 1]


@pytest.mark.parametrize("kind", SIGNS)
def test_files_of_each_kind(result, tmp_path, kind):
    """Not trivial, and the same bytes every time, in any thread."""
    path = tmp_path / "new" / f"figure.{kind.upper()}"
    figure = result_figure(result, path)
    data = path.read_bytes()
    assert data.startswith(SIGNS[kind])
    assert len(data) > 10_000
    with ThreadPoolExecutor(3) as pool:
        again = [tmp_path / f"{i}.{kind}" for i in range(3)]
        drawn = {each.rendered(kind) for each in pool.map(partial(result_figure, result), again)}
    assert {file.read_bytes() for file in again} == drawn == {figure.rendered(kind)} == {data}
    assert {*tmp_path.rglob("*.*")} == {*again, path}
    if kind == "svg":
        ET.fromstring(data)
    for word in (b"Date", b"Matplotlib v", b"matplotlib.org"):
        assert word not in data


def test_a_result_shows_itself_in_a_notebook(result):
    html = result._repr_html_()
    ET.fromstring(html)  # well formed
    assert "&lt;EXP3.S&gt;" in html
    assert "data:image/png;base64,iVBORw0KGgo" in html
    assert repr(result) == "<Result of made: 3 policies, 50 × 100 steps>"
    data, size = result.plot()._repr_png_()
    assert data.startswith(SIGNS["png"])
    assert size == {"width": 634, "height": 413}
    assert "–" in made_result({"a": [1.0]})._repr_html_()  # no standard error


def test_no_window_and_no_backend_is_needed():
    """A figure draws without pyplot, which is slow and not for threads."""
    code = (
        "import sys\n"
        "from lastblock.lab.figures.takeover import takeover_figure\n"
        "assert 'matplotlib' not in sys.modules\n"
        "takeover_figure().rendered('png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_figure_for_a_column_of_a_paper(result):
    narrow, usual = result_figure(result, width=3.25), result_figure(result)
    assert narrow.get_figwidth() == 3.25
    assert usual.get_figwidth() == 6.6
    for figure in (narrow, usual):
        (panel,) = figure.axes
        figure.draw_without_rendering()
        figure.draw_without_rendering()
        right = max(text.get_window_extent().x1 for text in panel.texts)
        assert right <= figure.bbox.x1 + 1.0  # the names are inside
    sizes = [figure.axes[0].xaxis.label.get_fontsize() for figure in (narrow, usual)]
    assert 7.0 < sizes[0] < sizes[1]  # smaller, but readable
    assert result_figure([result, result], width=6.75).get_figwidth() == 6.75
    (panel,) = result_figure(made_result({f"p{i}": [1.0 * i] for i in range(30)})).axes
    assert panel.texts[-1].get_fontsize() < 10.0  # rather than on top of each other


def test_some_of_the_policies_look_as_among_all(result):
    (panel,) = result_figure(result, policies=["SW-TS"]).axes
    (whole,) = result_figure(result).axes
    ((colour, line),) = lines(panel).items()
    assert lines(whole)[colour].get_marker() == line.get_marker()
    assert (lines(whole)[colour].get_ydata() == line.get_ydata()).all()
    (panel,) = result.plot(kind="best-arm", policies=["<EXP3.S>", "SW-LB-SDA"]).axes
    assert len(lines(panel)) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policies": ["SW-T"]}, "policies: there is no 'SW-T'; did you mean 'SW-TS'"),
        ({"policies": []}, "must be a list of labels; give at least one"),
        ({"policies": ["alone"]}, r"made has none of them; it has: \['SW-LB-SDA'"),
        ({"width": 0.5}, "width=0.5 must lie between 2 and 40 inches"),
        ({"width": float("nan")}, "width=nan must be finite"),
        ({"kind": "pie"}, "kind='pie' must be one of regret, best-arm"),
        ({"path": "figure.jpeg"}, r"use one of \.png, \.svg, \.pdf"),
        ({"path": "figure.png.gz"}, r"use one of \.png, \.svg, \.pdf"),
    ],
)
def test_mistakes_are_said_at_once(result, tmp_path, monkeypatch, wrong, message):
    monkeypatch.chdir(tmp_path)
    other = made_result({"alone": [1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        result_figure([other, result], **wrong)
    if "path" in wrong:
        with pytest.raises(ValueError, match=message):
            takeover_figure(wrong["path"])
    assert list(tmp_path.iterdir()) == []
