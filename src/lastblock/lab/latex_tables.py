"""Write tables in LaTeX."""

import re
from collections.abc import Sequence

_GREEK = "αβγδεηθκλμπρστφωΓΔ"
_NAMES = (
    "alpha beta gamma delta varepsilon eta theta kappa lambda mu pi rho sigma tau varphi omega "
    "Gamma Delta"
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", (f"$^{{{digit}}}$" for digit in range(10)), strict=True)),
    **{letter: f"$\\{name}$" for letter, name in zip(_GREEK, _NAMES.split(), strict=True)},
}


def escape(text: object) -> str:
    """Return LaTeX that prints this text; Greek letters and mathematical signs become formulas."""
    escaped = "".join(_SPECIAL.get(character, character) for character in str(text))
    return re.sub(r"(?<!\\)\$\$", "", escaped)  # join adjacent formulas


def minus(number: str) -> str:
    """Return a number as LaTeX inside a formula: with a plain minus sign, and ∞ as a command."""
    return number.replace("−", "-").replace("∞", r"\infty")


def latex_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    aligned: str,
    caption: str,
    label: str,
) -> str:
    r"""Return a whole `table` environment with the rules of the package booktabs.

    Parameters
    ----------
    header, rows
        The cells, in LaTeX.
    aligned
        The letter l, c or r for each column.
    caption
        The caption, in LaTeX.
    label
        The label for ``\ref``.
    """
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        return f"    {' & '.join(padded)} \\\\"

    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            rf"  \label{{{label}}}",
            rf"  \begin{{tabular}}{{{aligned}}}",
            r"    \toprule",
            line(header),
            r"    \midrule",
            *(line(row) for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )
