"""Results: what a run leaves, as pandas frames in memory and as Parquet files on disk.

A folder holds one Parquet file a frame. Each file carries the scenario, the versions and the number
of the run in its metadata. All of them but `timing` are the same bytes for the same scenario and
versions, however often the run was interrupted and wherever it ran.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lastblock.lab import figures, notebook, statistics
from lastblock.lab.claims import Claim
from lastblock.lab.intervals import Method, Sample
from lastblock.support import files
from lastblock.support.errors import ResultError

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.figures.canvas import Picture

FORMAT = 2
_KEY = b"lastblock"
_FRAMES = ("curves", "final", "pulls", "delays", "policies", "timing")


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a scenario.

    Every frame has a column `policy`: the label. Times are numbers of pulls.
    """

    about: dict[str, Any]
    """The scenario (`Scenario.describe`), what follows from it, and the versions."""
    curves: "pd.DataFrame"
    """policy, t, mean, se, q25, q75 of the regret; best_share: pulls of a best arm since the time
    before, as a share."""
    final: "pd.DataFrame"
    """policy, replication, regret at the horizon, restarts; missing for policies that do not count
    them."""
    pulls: "pd.DataFrame"
    """policy, phase, start, arm, mean and se of the pulls."""
    delays: "pd.DataFrame"
    """policy, replication, phase, delay: pulls until a best arm of the phase had 32 of the last 64;
    missing for never."""
    policies: "pd.DataFrame"
    """policy, name, parameters (JSON), state_bytes."""
    timing: "pd.DataFrame"
    """policy, seconds (of one core), ns_per_step."""

    @property
    def name(self) -> str:
        return str(self.about["scenario"]["name"])

    @property
    def title(self) -> str:
        return str(self.about["scenario"]["title"])

    @property
    def horizon(self) -> int:
        return int(self.about["scenario"]["horizon"])

    @property
    def replications(self) -> int:
        return int(self.about["scenario"]["replications"])

    @property
    def seed(self) -> int:
        return int(self.about["scenario"]["seed"])

    @property
    def labels(self) -> list[str]:
        """The policies, in the scenario's order."""
        return list(self.about["scenario"]["policies"])

    @property
    def changes(self) -> list[int]:
        """The times at which the arms change."""
        return list(self.about["changes"])

    @property
    def lai_robbins(self) -> float | None:
        """The constant C of the lower bound C log t; None where arms change or are of no family."""
        constant: float | None = self.about["lai_robbins"]
        return constant

    @property
    def claims(self) -> list[Claim]:
        """What the results are expected to show."""
        return [
            Claim(**{**claim, "policies": tuple(claim["policies"])})
            for claim in self.about["scenario"]["claims"]
        ]

    def final_regret(self, policy: str) -> Sample:
        """The regret of each replication at the horizon."""
        return statistics.final_regret(self, policy)

    def summary(self, confidence: float = 0.95, method: Method = "normal") -> "pd.DataFrame":
        """The final regret of every policy; see `lastblock.lab.statistics.summary`."""
        return statistics.summary(self, confidence, method)

    def differences(
        self, baseline: str | None = None, confidence: float = 0.95, method: Method = "normal"
    ) -> "pd.DataFrame":
        """Paired differences to a baseline; see `lastblock.lab.statistics.differences`."""
        return statistics.differences(self, baseline, confidence, method)

    def delay_summary(self) -> "pd.DataFrame":
        """Delays after each change; see `lastblock.lab.statistics.delay_summary`."""
        return statistics.delay_summary(self)

    def plot(
        self, path: str | Path | None = None, *, kind: Literal["regret", "best-arm"] = "regret"
    ) -> "Picture":
        """A Matplotlib figure of the regret, or of the share of best-arm pulls (kind="best-arm").

        With a path it is written too, as PNG, SVG or PDF. In a notebook it shows itself.
        """
        kinds = {"regret": figures.regret_figure, "best-arm": figures.best_arm_figure}
        if kind not in kinds:
            raise ValueError(f"kind={kind!r} must be one of {', '.join(kinds)}")
        return kinds[kind](self, path)

    def __repr__(self) -> str:
        policies = f"{len(self.labels)} polic{'y' if len(self.labels) == 1 else 'ies'}"
        return f"<Result of {self.name}: {policies}, {self.replications} × {self.horizon} steps>"

    def _repr_html_(self) -> str:
        """For notebooks: the final regret as a table, and the figure."""
        return notebook.html(self)

    def save(self, folder: str | Path) -> Path:
        """Write the Parquet files; each is written whole or not at all."""
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
    """Raise a `ResultError` if results of another version would be overwritten."""
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
    """Read the results in a folder, as `run` left them."""
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


def concatenate(frames: Sequence["pd.DataFrame"], labels: Sequence[str]) -> "pd.DataFrame":
    """One frame of many, with the policies in their order."""
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    whole = pd.concat(frames, ignore_index=True)
    whole["policy"] = pd.Categorical(whole["policy"], categories=list(labels), ordered=False)
    return whole
