"""Reads scenarios from TOML files, the user's own and those that come with the package."""

from collections.abc import Container, Mapping
from pathlib import Path

from lastblock.core.protocol import Policy
from lastblock.environments.drifting import Drifting
from lastblock.environments.prior import Prior
from lastblock.lab.scenario import NAME, Scenario
from lastblock.lab.scenario_files.delay import read_delay
from lastblock.lab.scenario_files.document import TomlTable, parse, read_text
from lastblock.lab.scenario_files.environment import read_environment
from lastblock.lab.scenario_files.imports import read_imports
from lastblock.lab.scenario_files.policies import World, check_without_world, read_policies
from lastblock.lab.scenario_files.prior import read_prior
from lastblock.lab.sweeps import Sweep
from lastblock.simulation.run import Environment
from lastblock.simulation.simulate import LONGEST_HORIZON, check_size
from lastblock.support.checks import at_least, whole
from lastblock.support.errors import ScenarioError, short
from lastblock.support.spelling import nearest
from lastblock.theory import count_changes

_FOLDER = Path(__file__).parents[1] / "scenarios"
_KEYS = (
    "name",
    "title",
    "horizon",
    "replications",
    "seed",
    "changes",
    "imports",
    "arms",
    "phases",
    "prior",
    "delay",
    "policies",
)

TEMPLATE = (Path(__file__).parent / "template.toml").read_text(encoding="utf-8")
"""The commented scenario that `lastblock init` writes."""


def names() -> list[str]:
    """Return the names of the scenarios that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def read(
    source: str | Path,
    *,
    horizon: int | None = None,
    replications: int | None = None,
    seed: int | None = None,
    reference: bool = False,
) -> Scenario:
    """Read a scenario; `Scenario.load` calls this.

    Parameters
    ----------
    source
        The path of a TOML file, or the name of a scenario that comes with the package.
    horizon, replications, seed
        Numbers to use instead of the file's. Tunings use the new horizon.
    reference
        Follow the authors' code where it differs from the paper, see `Scenario.with_reference`.

    Returns
    -------
    Scenario
        The scenario.

    Raises
    ------
    ScenarioError
        If there is no such file or scenario, or if it has a mistake; the message names the key.

    Examples
    --------
    >>> scenario = read("bernoulli-changes", replications=100)
    >>> scenario.environment.changes, scenario.policies["SW-LB-SDA"].window
    ((3000, 5000), 429)
    """
    path, name = _find(source)
    top = parse(name, read_text(path, name))
    document = top.document
    with document.noting():
        top.only(_KEYS, "a scenario")
    meant = {nearest(key, _KEYS) for key in top if key not in _KEYS}  # these are not missing
    instead = {"horizon": horizon, "replications": replications, "seed": seed}
    numbers = ScenarioNumbers(top, instead, meant)
    try:
        read_imports(top, path.parent)
    except ScenarioError as error:  # families and policies are unknown then, so read no further
        document.mistakes.append(error)
        document.report()
    steps = numbers.values.get("horizon", LONGEST_HORIZON)
    title, own_name = "", ""
    with document.noting():
        own_name = _read_name(top, path)
    with document.noting():
        title = top.text("title")
    environment: Environment | None = None
    fits = False
    if "arms" not in meant:
        with document.noting():
            environment = read_prior(top) if "prior" in top else read_environment(top, steps)
    if environment is not None:
        with document.noting():
            numbers.check(environment)
            fits = True
    policies: dict[str, Policy] | None = None
    sweeps: tuple[Sweep, ...] = ()
    if "policies" in meant:
        pass
    elif environment is None or not fits or "horizon" not in numbers.values:
        check_without_world(top)
    else:
        before = len(document.mistakes)
        with document.noting():
            changes = _read_changes(top, environment, steps)
            made, sweeps = read_policies(top, World(environment, steps, changes))
            policies = made if len(document.mistakes) == before else None
    delay = read_delay(top)
    document.report()
    if environment is None or policies is None:
        raise AssertionError("a mistake in the scenario was not noted")
    scenario = Scenario(
        name=own_name,
        title=title,
        environment=environment,
        policies=policies,
        delay=delay,
        sweeps=sweeps,
        source=document.text,
        **numbers.values,
    )
    return scenario.with_reference() if reference else scenario


class ScenarioNumbers:
    """The horizon, the replications and the seed: the caller's if given, else the file's."""

    def __init__(
        self, top: TomlTable, instead: Mapping[str, int | None], meant: Container[str | None] = ()
    ) -> None:
        self.top = top
        self.instead = {key: n for key, n in instead.items() if n is not None}
        self.values: dict[str, int] = {}
        for key, least in {"horizon": 1, "replications": 1, "seed": 0}.items():
            with top.document.noting():
                if key in self.instead or key in top:
                    self.values[key] = self._read(key, least)
                elif key == "horizon" and key not in meant:
                    raise top.error("a scenario needs a horizon, in steps; write horizon = 10_000")

    def _read(self, key: str, least: int) -> int:
        try:
            return at_least(least, self.instead.get(key, self.top.values.get(key)), key)
        except ValueError as error:
            raise self.error(key, error) from None

    def check(self, environment: Environment) -> None:
        """Raise an error if a number is too large, or the horizon does not fit the arms."""
        if "horizon" not in self.values:
            return
        try:
            check_size(environment, self.values["horizon"], self.values.get("replications", 1), 1)
        except ValueError as error:
            raise self.error(str(error).partition("=")[0], error) from None

    def error(self, key: str, message: object) -> ScenarioError:
        """Return an error about a number; without a key if the caller gave the number."""
        if key in self.instead:
            return ScenarioError(f"{self.top.document.name}: {message}")
        return self.top.error(message, key)


def _find(source: str | Path) -> tuple[Path, str]:
    """Return the path of the file, and its name as error messages show it."""
    if not isinstance(source, str | Path):
        raise ScenarioError(f"scenario={short(source)} must be a file or the name of a scenario")
    if source in names():
        return _FOLDER / f"{source}.toml", f"{source}.toml"
    path = Path(source)
    try:
        missing = not path.exists()
    except OSError:  # not accessible; reading it will say why
        missing = False
    if missing:
        options = [*names(), *(str(file) for file in path.parent.glob("*.toml"))]
        near = nearest(path.stem, options) or nearest(str(path), options)
        hint = f"did you mean {near!r}?" if near else f"give a TOML file, or {', '.join(names())}"
        raise ScenarioError(f"there is no scenario {short(str(source))}; {hint}")
    return path, str(path)


def _read_name(top: TomlTable, path: Path) -> str:
    name = top.text("name", path.stem)
    if not NAME.fullmatch(name):
        raise top.error(
            f"name={name!r} must consist of letters, digits, dots and dashes: it names a folder"
            + ("" if "name" in top else "; write name = … in the file, or rename the file"),
            "name",
        )
    return name


def _read_changes(top: TomlTable, environment: Environment, horizon: int) -> int | None:
    """Return the number of changes for tunings; None if the arms drift and the file has none."""
    if "changes" not in top:
        if isinstance(environment, Prior):
            return 0
        return None if isinstance(environment, Drifting) else count_changes(environment)
    try:
        changes = whole(top.values["changes"], "changes")
    except ValueError as error:
        raise top.error(error, "changes") from None
    if not 0 <= changes < horizon:
        raise top.error(
            f"changes={changes} must be at least 0 and below the horizon {horizon}", "changes"
        )
    return changes
