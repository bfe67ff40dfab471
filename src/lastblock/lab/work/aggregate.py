"""Turn the chunks of one policy into its rows in the results.

Quantiles are exact, over all replications. They need all trajectories of a policy at a time, so we
take a few times at once, and memory stays bounded.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import state_dtype
from lastblock.core.registry import describe
from lastblock.lab.scenario import Scenario
from lastblock.lab.work.chunks import Chunk, Finished, Shelf

if TYPE_CHECKING:
    import pandas as pd

_BYTES_AT_ONCE = 128 << 20


def _regret_at(times: slice, chunk: Finished) -> npt.NDArray[Any]:
    return chunk.regret[:, times]


class Aggregate:
    """The rows of one policy in the tables of the results.

    Parameters
    ----------
    label, scenario
        The policy and its scenario.
    chunks, shelf
        The chunks of the policy, and where they are kept.
    """

    def __init__(
        self, label: str, scenario: Scenario, chunks: Sequence[Chunk], shelf: Shelf
    ) -> None:
        self.label, self.scenario = label, scenario
        self.chunks, self.shelf = chunks, shelf

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return a frame for each table of the results, by the table's name."""
        import pandas as pd  # an optional dependency  # noqa: PLC0415

        tables = {
            "curves": self.curves(),
            "final": self.final(),
            "pulls": self.pulls(),
            "delays": self.delays(),
            "policies": self.policy(),
            "timing": self.timing(),
        }
        return {name: pd.DataFrame({"policy": self.label, **t}) for name, t in tables.items()}

    def curves(self) -> dict[str, Any]:
        """Return mean, error and quartiles of the regret over time, and the share of best pulls."""
        times = np.array(self.chunks[0].course.times)
        n = self.scenario.replications
        mean, se, q25, q75 = (np.empty(times.size) for _ in range(4))
        width = max(1, _BYTES_AT_ONCE // (8 * n))
        for start in range(0, times.size, width):
            block = slice(start, start + width)
            regret = self._gather(partial(_regret_at, block))
            mean[block] = regret.mean(axis=0)
            se[block] = regret.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.nan
            q25[block], q75[block] = np.quantile(regret, [0.25, 0.75], axis=0)
        best = sum(chunk.best_pulls.sum(axis=0) for chunk in self._finished())
        share = np.diff(best / n, prepend=0.0) / np.diff(times, prepend=0)
        return {"t": times, "mean": mean, "se": se, "q25": q25, "q75": q75, "best_share": share}

    def final(self) -> dict[str, Any]:
        """Return regret and restarts of every replication at the horizon."""
        import pandas as pd  # noqa: PLC0415  # optional, and slow to import

        regret = self._gather(lambda chunk: chunk.regret[:, -1])
        restarts = self._gather(lambda chunk: chunk.restarts)
        counted = pd.array(restarts, dtype="Int64")
        counted[restarts < 0] = pd.NA
        return {"replication": np.arange(regret.size), "regret": regret, "restarts": counted}

    def pulls(self) -> dict[str, Any]:
        """Return the mean pulls of each arm in each phase, with standard errors."""
        pulls = self._gather(lambda chunk: chunk.pulls)
        n, phases, arms = pulls.shape
        se = pulls.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full((phases, arms), np.nan)
        return {
            "phase": np.repeat(np.arange(phases), arms),
            "start": np.repeat([0, *self.scenario.environment.changes], arms),
            "arm": np.tile(np.arange(arms), phases),
            "mean": pulls.mean(axis=0).ravel(),
            "se": se.ravel(),
        }

    def delays(self) -> dict[str, Any]:
        """Return the delay of every replication in each phase; missing if no best arm was found."""
        import pandas as pd  # noqa: PLC0415  # optional, and slow to import

        delays = self._gather(lambda chunk: chunk.delays)
        n, phases = delays.shape
        found = pd.array(delays.ravel(), dtype="Int64")
        found[delays.ravel() < 0] = pd.NA
        return {
            "replication": np.repeat(np.arange(n), phases),
            "phase": np.tile(np.arange(phases), n),
            "delay": found,
        }

    def policy(self) -> dict[str, Any]:
        """Return the name and the parameters of the policy, and the size of its state."""
        policy, scenario = self.scenario.policies[self.label], self.scenario
        parameters = describe(policy)["parameters"]
        size = state_dtype(policy, scenario.environment.n_arms, scenario.horizon).itemsize
        return {
            "name": [type(policy).__name__],
            "parameters": [json.dumps(parameters, ensure_ascii=False, default=repr)],
            "state_bytes": [size],
        }

    def timing(self) -> dict[str, Any]:
        """Return the seconds of all chunks together, and the nanoseconds per step."""
        seconds = sum(chunk.seconds for chunk in self._finished())
        steps = self.scenario.replications * self.scenario.horizon
        return {"seconds": [seconds], "ns_per_step": [seconds / steps * 1e9]}

    def _finished(self) -> Iterator[Finished]:
        return map(self.shelf.get, self.chunks)

    def _gather(self, part: Callable[[Finished], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        # Copying each part lets Python free the rest of its chunk.
        return np.concatenate([part(chunk).copy() for chunk in self._finished()])


def concatenate(frames: Sequence["pd.DataFrame"], labels: Sequence[str]) -> "pd.DataFrame":
    """Return one frame made of `frames`; `labels` gives the order of the policies."""
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    whole = pd.concat(frames, ignore_index=True)
    whole["policy"] = pd.Categorical(whole["policy"], categories=list(labels), ordered=False)
    return whole
