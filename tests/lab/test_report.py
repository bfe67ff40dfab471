"""The report as a file."""

import re
from html import escape

import pandas as pd
import pytest
from small_runs import HOSTILE, ODD

import lastblock as lb
from lastblock.lab.report.page import write_report
from lastblock.lab.report.results import pooled


def texts(html, pattern):
    return [re.sub(r"<[^>]*>", "", found) for found in re.findall(pattern, html, re.S)]


def table_after(html, heading):
    """The cells of each row below a heading: the numbers to sort by, or the texts."""
    table = html.split(f"{heading}</h3>")[1].split("</table>")[0].split("<tbody>")[1]
    rows = []
    for row in re.findall(r"<tr.*?</tr>", table, re.S):
        cells = re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row, re.S)
        values = [(re.search('data-value="(.*?)"', about), text) for about, text in cells]
        rows.append([float(v[1]) if v else re.sub(r"<[^>]*>", "", text) for v, text in values])
    return rows


def test_the_tables_hold_the_statistics(results, tmp_path):
    result = results["changing"]
    html = write_report(tmp_path / "report.html", result).read_text()
    summary = result.summary()
    rows = table_after(html, "Final regret")
    assert [row[0] for row in rows] == list(ODD)
    columns = ["mean", "mean", "se", "low", "high", "q25", "q75"]
    for row, expected in zip(rows, summary[columns].to_numpy(), strict=True):
        assert row[1:8] == pytest.approx(expected.tolist(), rel=1e-8)
    assert [row[8] for row in rows] == pytest.approx(result.timing["ns_per_step"].tolist())
    assert [row[9] for row in rows] == result.policies["state_bytes"].tolist()

    differences = result.differences()
    rows = table_after(html, "Paired differences")
    assert [row[0] for row in rows] == differences["policy"].tolist()
    columns = ["difference", "difference", "low", "high", "p", "significant", "variance_reduction"]
    differences["wins"] = result.wins()["wins"]
    columns.insert(6, "wins")
    for row, expected in zip(rows, differences[columns].astype(float).to_numpy(), strict=True):
        assert row[1:] == pytest.approx(expected.tolist(), rel=1e-8)
    unclear = differences[~differences["significant"]]["policy"].tolist()
    assert 0 < len(unclear) < len(rows)
    (note,) = texts(html, r'<p class="note">.*?</p>')
    assert note.startswith(f"Not significant at 95 %: {unclear[0]} (p = ")

    delays = result.delay_summary().set_index(["policy", "phase"])
    for label, *cells in table_after(html, "Detection delays"):
        for phase in (0, 1):
            median, _, found = cells[3 * phase : 3 * phase + 3]
            assert median == delays["median"][label, phase]
            assert found == pytest.approx(delays["found"][label, phase])


def test_tables_are_called_by_their_names(results, tmp_path):
    """Whatever their rows are marked with."""
    html = write_report(tmp_path / "report.html", [results["changing"], results["steady"]])
    found = re.findall(r'<div class="scroll"[^>]* aria-label="(.*?)"', html.read_text())
    regret, paired = ["Final regret", "Tail of the final regret"], "Paired differences"
    rest = ["Detection delays", "Pulls per phase and arm", "Arms", "Policies"]
    assert found == ["At a glance", *regret, paired, *rest, *regret, *rest]


def test_claims_are_marked_with_their_figures(results, tmp_path):
    rows = [("changing", HOSTILE, True, "a 1, b 2"), ("steady", "it is late", False, "a 3, b 2")]
    frame = pd.DataFrame(rows, columns=["scenario", "claim", "seen", "figures"])
    path = write_report(tmp_path / "report.html", results["changing"], claims=frame)
    html = path.read_text()
    listed = texts(html.split('<ul class="claims">')[1].split("</ul>")[0], r"<li>.*?</li>")
    assert listed == [
        f"✓ seenchanging: {escape(HOSTILE)}a 1, b 2",
        "✗ not seensteady: it is latea 3, b 2",
    ]
    assert "<dt>Claims seen</dt><dd>1 <small>of 2</small>" in html


def test_what_was_run_and_how_to_run_it_again(results, tmp_path, page_path):
    html = page_path.read_text()
    versions = results["changing"].about["versions"]
    for name, version in versions.items():
        assert f"<dt>{name}</dt><dd>{version}</dd>" in html
    assert "lastblock reproduce --replications 60\nlastblock report" in html
    assert "window = 60, reference = False" in html
    assert "Bernoulli(0.9)" in html
    assert "centre = 0.5, amplitude = 0.4, period = 200, phase = 0" in html
    assert "linear through 0.2 at 0, 0.8 at 100" in html
    assert "table of 300 values, from 0.1 to 0.1" in html
    assert "title = &quot;Three coins&quot;" in html
    alone = write_report(tmp_path / "alone.html", results["changing"]).read_text()
    horizon = results["changing"].horizon
    assert f"lastblock run changing.toml --horizon {horizon} --replications 60 --seed 1" in alone


def test_the_paper_s_extras_make_a_page_of_their_own(tmp_path):
    frame = pd.DataFrame({"policy": ["LB-SDA"], "storage, paper": ["O(T)"], "ns": [12.5]})
    html = write_report(tmp_path / "report.html", [], table1=frame).read_text()
    assert "Table 1, measured</h2>" in html
    assert '<td data-value="12.5">12.50</td>' in html
    assert "Run it again" not in html


def test_shares_of_neighbouring_times_are_pooled():
    times = [10, 500, 501, 1000]
    shares = [0.5, 1.0, 0.0, 0.25]
    pulls = [5.0, 495.0, 495.0, 619.75]
    over = [(0, 10), (10, 500), (10, 501), (501, 1000)]  # one step alone says little
    at = dict(zip([0, *times], [0.0, *pulls], strict=True))
    assert pooled(times, shares) == pytest.approx([(at[b] - at[a]) / (b - a) for a, b in over])


def test_the_file_stands_alone_and_is_small(page_path):
    html = page_path.read_text()
    assert set(re.findall(r"https?://[\w./-]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r'(src|href)="(?!#|data:)', html)
    assert "@import" not in html
    assert "url(" not in html.split("</style>")[0]
    assert len(html) < 1_000_000


def test_the_same_results_give_the_same_file(results, tmp_path):
    one, two = (write_report(tmp_path / n, results["changing"]).read_bytes() for n in "ab")
    assert one == two


def test_bad_input_writes_nothing(results, tmp_path):
    path = tmp_path / "report.html"
    with pytest.raises(lb.lab.ResultError, match="give at least one"):
        write_report(path, [])
    with pytest.raises(ValueError, match="neither a PNG nor an SVG"):
        write_report(path, results["changing"], means=b"GIF89a")
    with pytest.raises(FileNotFoundError):
        write_report(path, results["changing"], takeover=tmp_path / "gone.svg")
    assert not path.exists()
