"""The simulator: what another policy would have done, from a bandit's own log."""

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from lastblock.core.registry import POLICIES
from lastblock.live.labels import ACTIVE, Label
from lastblock.serve.dashboard.access import Guard, Visit
from lastblock.serve.dashboard.bandit_pages import BanditPages
from lastblock.serve.dashboard.charts import policy_marks
from lastblock.serve.hosted import Hosted
from lastblock.serve.http import Response
from lastblock.serve.policies import DEFAULT, offered, read_policy, written
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.serve.routing import Route
from lastblock.serve.state import State

PATIENCE: Final = 180.0
"""Seconds after which a simulation is ended."""

MOST_PERIODS: Final = 50
NOW, OTHER = "now", "other"


def playing(hosted: Hosted) -> list[tuple[Label, int]]:
    """Return the arms that can be chosen, each with its place among all arms."""
    arms = hosted.bandit.arms.items()
    return [(label, place) for place, (label, state) in enumerate(arms) if state == ACTIVE]


class Simulator:
    """Runs simulations, one at a time, each in a process of its own.

    Parameters
    ----------
    place
        The address of the store.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._one = asyncio.Lock()

    async def run(self, hosted: Hosted, other: Any, periods: int) -> dict[str, Any]:
        """Return what a bandit's policy and another one would have done.

        Raises
        ------
        ProblemError
            If the simulation cannot be done, or takes too long.
        """
        if self._one.locked():
            raise unavailable("another simulation is running; try again in a moment")
        bandit = hosted.bandit
        arms = playing(hosted)
        if len(arms) < 2:
            raise ProblemError("invalid", "a policy needs two arms that are not paused or retired")
        question = {
            "store": self._place,
            "name": hosted.name,
            "arms": [label for label, _ in arms],
            "policies": {NOW: written(bandit.policy), OTHER: other},
            "periods": periods,
        }
        async with self._one:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "lastblock.serve.dashboard.simulation",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            try:
                sent = json.dumps(question).encode()  # not an argument: others can read those
                async with asyncio.timeout(PATIENCE):
                    output, _ = await process.communicate(sent)
            except TimeoutError:
                raise unavailable(f"the simulation took more than {PATIENCE:g} s") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode != 0:
            raise unavailable("the simulation failed; the server's log says why")
        found: dict[str, Any] = json.loads(output)
        if "wrong" in found:
            raise ProblemError("invalid", found["wrong"])
        result: dict[str, Any] = found["found"]
        return result


def routes(state: State, guard: Guard, bandits: BanditPages) -> Iterator[Route]:
    """Yield the pages."""
    simulator = Simulator(state.settings.store)

    def shown(visit: Visit, hosted: Hosted, found: Any = None, wrong: str = "") -> Response:
        current = type(hosted.bandit.policy).__name__
        default = "LBSDAGM" if current == DEFAULT else DEFAULT
        chosen = visit.form.get("policy", default)
        return visit.page(
            "simulator.html",
            422 if wrong else 200,
            name=hosted.name,
            policy=str(hosted.bandit.policy),
            names=offered(POLICIES),
            chosen=chosen,
            marks=policy_marks({NOW: current, OTHER: chosen}),
            parameters=visit.form.get("parameters", ""),
            periods=visit.form.get("periods", "1"),
            most=MOST_PERIODS,
            arms=playing(hosted),
            found=found,
            wrong=wrong,
        )

    async def form(visit: Visit) -> Response:
        return shown(visit, await bandits.find(visit))

    async def simulate(visit: Visit) -> Response:
        hosted = await bandits.find(visit)
        try:
            other = _policy(visit.form.get("policy", ""), visit.form.get("parameters", ""))
            found = await simulator.run(hosted, other, _periods(visit.form.get("periods", "1")))
        except ProblemError as problem:
            if problem.status != 422:
                raise
            return shown(visit, hosted, wrong=problem.body().detail)
        except ValueError as error:
            return shown(visit, hosted, wrong=str(error))
        return shown(visit, hosted, found)

    one = "/dashboard/bandits/{name}/simulator"
    yield Route("GET", one, guard(form), "The simulator.")
    yield Route("POST", one, guard(simulate), "Simulate another policy.")


def _policy(name: str, parameters: str) -> dict[str, Any]:
    """Return a policy as `read_policy` reads it, or raise a ValueError."""
    try:
        given = msgspec.json.decode(parameters) if parameters.strip() else {}
    except msgspec.DecodeError as error:
        raise ValueError(f"the parameters are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ValueError('give parameters as an object, such as {"window": 500}')
    made = {**given, "policy": name}
    read_policy(made)
    return made


def _periods(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_PERIODS):
        raise ValueError(f"periods={text!r} must be a whole number from 1 to {MOST_PERIODS}")
    return int(text)
