"""Tables for a paper: rounded as their errors say, and right in LaTeX."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from lastblock.lab.comparisons import comparison, latex, plain_rows
from lastblock.lab.latex_tables import escape
from lastblock.lab.paper import table1
from lastblock.lab.statistics import differences, summary
from lastblock.support.rounding import rounded
from made_results import made_result


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 50, 300)
    regrets = {
        "LB-SDA_1 & co": 500 + luck,
        "ε-greedy, σ² = 50 %": 503 + luck + rng.normal(0, 20, 300),
        "far off": 20_000 + 200 * luck,
    }
    return made_result(regrets, name="mine", horizon=1000)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (12.3456, 0.0678, ("12.346", "0.068")),
        (12.3456, 0.0996, ("12.35", "0.10")),  # not 0.100
        (12.3456, 0.997, ("12.3", "1.0")),
        (-0.004, 0.12, ("0.00", "0.12")),  # no −0.00
        (45678.9, 1234.0, ("45700", "1200")),
        (99.96, 10.0, ("100", "10")),
        (1.0, math.nan, ("1", "")),
        (123456.7, math.nan, ("123457", "")),
        (2.5, 0.0, ("2.5", "0")),
    ],
)
def test_numbers_have_the_digits_of_their_errors(value, error, shown):
    assert rounded(value, error) == shown


def test_a_comparison_has_every_policy_and_both_tables(result):
    frame = comparison(result)
    assert list(frame["policy"]) == result.labels
    assert frame["mean"].equals(summary(result)["mean"])
    assert frame["mean_se"].equals(summary(result)["se"])
    others = frame.dropna(subset="difference").reset_index(drop=True)
    expected = differences(result)
    for name in expected.columns:
        assert plain_rows(others[[name]]) == plain_rows(expected[[name]])
    base = frame[frame["difference"].isna()]
    assert list(base["policy"]) == [expected["baseline"].iloc[0]]
    assert plain_rows(base)[0]["difference"] is None


def rows_of(text):
    inside = text.split("\\midrule\n")[1].split("    \\bottomrule")[0]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)&", line.strip().removesuffix("\\\\"))]
        for line in inside.splitlines()
    ]


def test_latex_is_rounded_and_escaped(result):
    rows = rows_of(latex(result))
    expected = differences(result).set_index("policy")
    assert [row[0] for row in rows] == [
        r"LB-SDA\_1 \& co",
        r"$\varepsilon$-greedy, $\sigma^{2}$ = 50 \%",
        "far off",
    ]
    assert rows[0][1] == r"$498.2 \pm 2.9$"
    assert rows[0][2:] == ["--"] * 3
    second = expected.iloc[0]
    assert rows[1][2].startswith(f"${second['difference']:.1f} \\pm {second['se']:.1f}")
    assert rows[1][3] == f"$[{second['low']:.1f}, {second['high']:.1f}]$"
    third = summary(result).iloc[2]
    assert rows[2][1] == rf"${third['mean'] / 10:.0f}0 \pm {third['se'] / 10:.0f}0$"  # whole tens
    assert rows[2][4] == "$< 0.0001$"
    assert "^{*}" in rows[2][2]


def test_latex_is_whole(result):
    """Braces and environments are closed, and no character is left that LaTeX stumbles over."""
    for text in (latex(result), latex(result, "far off", 0.9)):
        assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
        environments = " ".join(re.findall(r"\\((?:begin|end)\{\w+\})", text))
        assert environments == "begin{table} begin{tabular} end{tabular} end{table}"
        assert text.isascii()
        assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
    assert "hold for all pairs" in latex(result)
    assert "adjusted for the number of rows" in text
    assert r"90\,\% interval" in text


def test_small_results_have_tables_too():
    alone = latex(made_result({"a": [1.0, 2.0]}))
    assert rows_of(alone) == [["a", r"$1.50 \pm 0.50$"]]
    single = latex(made_result({"a": [1.0], "b": [3.0]}))
    assert rows_of(single) == [["a", "$1$", "--", "--", "--"], ["b", "$3$", "$2$", "--", "--"]]
    assert "over 1 replication," in single


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", r"a\_b"),
        ("100 %", r"100 \%"),
        (r"\x", r"\textbackslash{}x"),
        ("$σ", r"\$$\sigma$"),
        ("T ≤ 10³ – …", r"T $\leq$ 10$^{3}$ -- \ldots{}"),
    ],
)
def test_text_is_escaped(text, escaped):
    assert escape(text) == escaped


def test_table_1_in_latex():
    row = {"policy": "LB-SDA", "storage, paper": "O((log T)²)", "rewards at T = 10³": 123}
    row |= {"rewards ~ T^b": 0.512, "ns at T = 10³": 12.345, "ns ~ (log T)^b": math.nan}
    text = table1.latex(pd.DataFrame([row]))
    assert rows_of(text) == [["LB-SDA", "O((log T)$^{2}$)", "123", "0.51", "12.3", "--"]]
    assert r"ns $\sim$ $(\log T)^b$" in text
    assert text.isascii()
