"""Results of a run: pandas frames in memory, Parquet files on disk.

A folder of results holds one Parquet file for each frame. The metadata of each file contain the
scenario, the versions and the number of the run. All files but `timing` are the same bytes for the
same scenario and versions, however often the run was interrupted and wherever it ran.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lastblock.lab import distributions, figures, notebook, ranks, statistics, sweeps
from lastblock.lab.intervals import Sample
from lastblock.lab.sweeps import Sweep
from lastblock.support import files
from lastblock.support.errors import ResultError

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.drawing.canvas import Picture

FORMAT = 1
_KEY = b"lastblock"
_FRAMES = ("curves", "final", "pulls", "delays", "policies", "timing")


@dataclass(frozen=True, eq=False)
class Result:
    """The results of a scenario, as `run` and `load` return them.

    In every frame the column `policy` has the label of the policy. Times are numbers of pulls.
    """

    about: dict[str, Any]
    """The scenario (`Scenario.describe`), facts that follow from it, and the versions."""
    curves: "pd.DataFrame"
    """Columns policy, t, and mean, se, q25, q75 of the regret up to t; best_share: the share of the
    pulls since the row before that chose a best arm."""
    final: "pd.DataFrame"
    """Columns policy, replication, regret (at the horizon), restarts (missing if the policy does
    not count them)."""
    pulls: "pd.DataFrame"
    """Columns policy, phase, start (of the phase), arm, and mean and se of the number of pulls."""
    delays: "pd.DataFrame"
    """Columns policy, replication, phase, delay: the number of pulls in the phase until 32 of the
    last 64 chose a best arm (missing if that never happened)."""
    policies: "pd.DataFrame"
    """Columns policy, name (of the class), parameters (JSON), state_bytes."""
    timing: "pd.DataFrame"
    """Columns policy, seconds (on one core), ns_per_step."""

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return str(self.about["scenario"]["name"])

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return str(self.about["scenario"]["title"])

    @property
    def horizon(self) -> int:
        """The number of pulls in each replication."""
        return int(self.about["scenario"]["horizon"])

    @property
    def replications(self) -> int:
        """The number of replications."""
        return int(self.about["scenario"]["replications"])

    @property
    def seed(self) -> int:
        """The seed of the scenario."""
        return int(self.about["scenario"]["seed"])

    @property
    def policy_names(self) -> dict[str, str]:
        """The name of the policy behind each label, such as ``{"SW-LB-SDA": "SWLBSDA"}``."""
        names = dict(zip(self.policies["policy"], self.policies["name"], strict=True))
        return {label: str(names[label]) for label in self.labels}

    @property
    def labels(self) -> list[str]:
        """The labels of the policies, in the scenario's order."""
        return list(self.about["scenario"]["policies"])

    @property
    def changes(self) -> list[int]:
        """The first time step of every phase but the first."""
        return list(self.about["changes"])

    @property
    def lai_robbins(self) -> float | None:
        """The constant C of the lower bound C log t; None if the arms change or share no family."""
        constant: float | None = self.about["lai_robbins"]
        return constant

    @property
    def sweeps(self) -> list[Sweep]:
        """The sweeps of the scenario: policies that are there with several values."""
        found = self.about["scenario"].get("sweeps", [])
        return [
            Sweep(s["label"], s["parameter"], tuple(s["values"]), tuple(s["labels"])) for s in found
        ]

    def sweep_table(self, confidence: float = 0.95) -> "pd.DataFrame":
        """Return the final regret at each value of each sweep.

        Parameters
        ----------
        confidence
            The confidence of the intervals.

        Returns
        -------
        pandas.DataFrame
            Columns sweep, parameter, value, policy, mean, se, low, high, q25, q75; empty if the
            scenario has no sweep.
        """
        return sweeps.sweep_table(self, confidence)

    def final_regret(self, policy: str) -> Sample:
        """Return the regret at the horizon of each replication.

        Parameters
        ----------
        policy
            The label of the policy.

        Returns
        -------
        array
            One number for each replication, in order.
        """
        mine = self.final[self.final["policy"] == policy]
        ordered = mine.set_index("replication")["regret"].sort_index()
        return np.asarray(ordered.to_numpy(dtype=np.float64))

    def summary(self, confidence: float = 0.95) -> "pd.DataFrame":
        """Return a table of the final regret of every policy.

        Parameters
        ----------
        confidence
            As for `lastblock.lab.statistics.summary`.

        Returns
        -------
        pandas.DataFrame
            One row per policy; the columns are those of `lastblock.lab.statistics.summary`.

        Raises
        ------
        ValueError
            If `confidence` is out of range.
        """
        return statistics.summary(self, confidence)

    def differences(self, baseline: str | None = None, confidence: float = 0.95) -> "pd.DataFrame":
        """Return a table of the final regret of every policy, less that of a baseline.

        Parameters
        ----------
        baseline
            The label of the policy to compare with; by default the one with the smallest mean.
        confidence
            As for `lastblock.lab.statistics.summary`.

        Returns
        -------
        pandas.DataFrame
            One row per other policy, with the columns of `lastblock.lab.statistics.differences`.

        Raises
        ------
        ValueError
            If `confidence` is out of range, or `baseline` is unknown.
        """
        return statistics.differences(self, baseline, confidence)

    def wins(self, baseline: str | None = None, confidence: float = 0.95) -> "pd.DataFrame":
        """Return a table of how often every policy has less regret than a baseline.

        Heavy tails do not blind this comparison; see `lastblock.lab.wins`.

        Parameters
        ----------
        baseline
            The label of the policy to compare with; by default the one with the smallest mean.
        confidence
            The confidence of the intervals.

        Returns
        -------
        pandas.DataFrame
            One row per other policy, with the columns of `lastblock.lab.wins`.

        Raises
        ------
        ValueError
            If `confidence` is out of range, or `baseline` is unknown.
        """
        return ranks.wins(self, baseline, confidence)

    def tails(self) -> "pd.DataFrame":
        """Return a table of the tail of the final regret; see `lastblock.lab.tails`."""
        return distributions.tails(self)

    def delay_summary(self) -> "pd.DataFrame":
        """Return the delays after each change; see `lastblock.lab.statistics.delay_summary`."""
        return statistics.delay_summary(self)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: Literal["regret", "best-arm", "histogram", "tail", "sweep"] = "regret",
        policies: Sequence[str] | None = None,
        width: float | None = None,
    ) -> "Picture":
        """Draw the result as a Matplotlib figure, which a notebook displays.

        Parameters
        ----------
        path
            A file to write the figure to; its name ends in .png, .svg or .pdf. None writes none.
        kind
            "regret"; "best-arm" for the share of the pulls that chose a best arm; of the regret at
            the horizon, "histogram", or "tail" for the share of replications with at least so much;
            "sweep" for the final regret at each value of a parameter.
        policies
            The labels of the policies to draw; by default all. Each looks as in the whole figure.
        width
            The width of the figure in inches, for a paper: 3.25 for a column, say. Letters are then
            smaller than usual, but readable without scaling the figure.

        Returns
        -------
        Picture
            The figure.

        Raises
        ------
        ValueError
            If `kind` or a policy is unknown, `path` has another ending, or `width` is no width of a
            figure.
        """
        return figures.result_figure(self, path, kind=kind, policies=policies, width=width)

    def __repr__(self) -> str:
        policies = f"{len(self.labels)} polic{'y' if len(self.labels) == 1 else 'ies'}"
        return f"<Result of {self.name}: {policies}, {self.replications} × {self.horizon} steps>"

    def _repr_html_(self) -> str:
        """Return what a notebook displays: the final regret as a table, and the figure."""
        return notebook.html(self)

    def save(self, folder: str | Path) -> Path:
        """Write the result as Parquet files.

        Each file is written completely or, if an error happens, not at all.

        Parameters
        ----------
        folder
            The folder for the files; it is created if need be.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        OSError
            If the folder or a file cannot be written.
        """
        import pyarrow as pa  # optional dependencies, and slow to import  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        metadata = {_KEY: json.dumps(self.about, ensure_ascii=False).encode()}
        for name in _FRAMES:
            table = pa.Table.from_pandas(getattr(self, name), preserve_index=False)
            table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
            buffer = io.BytesIO()
            pq.write_table(table, buffer, compression="zstd")
            files.write(folder / f"{name}.parquet", buffer.getvalue())
        return folder


def check_place(folder: Path) -> None:
    """Raise a `ResultError` if `folder` has results of another version: do not replace them."""
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    try:
        metadata = pq.read_schema(folder / "curves.parquet").metadata or {}
        about = json.loads(metadata[_KEY])
    except (KeyError, OSError, ValueError, pa.ArrowInvalid):  # nothing there, or nothing of ours
        return
    if about.get("format") != FORMAT:
        raise ResultError(f"{_of_another_version(folder, about)}: choose another folder")


def _of_another_version(folder: Path, about: dict[str, Any]) -> str:
    return (
        f"{folder} has results of format {about.get('format')}, written by lastblock "
        f"{about.get('versions', {}).get('lastblock', '?')}; this version reads format {FORMAT}"
    )


def load(path: str | Path) -> Result:
    """Read results from a folder that `run` or `Result.save` wrote.

    Parameters
    ----------
    path
        The folder, such as ``results/stationary``.

    Returns
    -------
    Result
        The results.

    Raises
    ------
    ResultError
        If the folder has no results, or they are damaged, mixed, or of another version.
    """
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    folder = Path(path)
    if not (folder / "curves.parquet").is_file():
        raise ResultError(f"{folder} holds no results; give a folder that a run wrote")
    frames: dict[str, pd.DataFrame] = {}
    abouts = []
    for name in _FRAMES:
        file = folder / f"{name}.parquet"
        try:
            table = pq.read_table(file)
            about = json.loads((table.schema.metadata or {})[_KEY])
        except FileNotFoundError:
            raise ResultError(f"{file} is missing; run the scenario again") from None
        except KeyError:
            raise ResultError(
                f"{file} is not from lastblock; give a folder that it wrote"
            ) from None
        except (pa.ArrowInvalid, OSError, ValueError) as error:
            raise ResultError(
                f"{file} is damaged ({str(error).splitlines()[0]}); run the scenario again"
            ) from None
        if about.get("format") != FORMAT:
            raise ResultError(
                f"{_of_another_version(folder, about)}: "
                "run the scenario again into another folder, or use that version"
            )
        abouts.append(about)
        frames[name] = table.to_pandas()
    if any(about != abouts[0] for about in abouts):
        raise ResultError(f"{folder} mixes files of two runs; run the scenario again")
    return Result(abouts[0], **frames)
