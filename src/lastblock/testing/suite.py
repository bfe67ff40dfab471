"""How checks are listed and run."""

from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from lastblock.core.checked import checks_on
from lastblock.kernels.background import compiling
from lastblock.support.parallel import progress_bar
from lastblock.support.spelling import nearest
from lastblock.testing.without_jit import refuse_inside

T = TypeVar("T")

_LONGEST_MESSAGE = 2000


class Check(Generic[T]):
    """One check of one policy, detector or arm: call it to run it.

    `str(check)` names both, for the identifiers of a parametrised test.

    Parameters
    ----------
    name
        The name of the check, a key of `POLICY_CHECKS` or its like.
    subject
        What is checked.
    function
        Takes the subject and raises an AssertionError that says what was seen.
    """

    def __init__(self, name: str, subject: T, function: Callable[[T], None]) -> None:
        self.name = name
        self.subject = subject
        self.function = function

    def __call__(self) -> None:
        """Run the check; an AssertionError names it and says what was seen."""
        __tracebackhide__ = True
        try:
            with compiling("at once"), checks_on(self.subject):
                self.function(self.subject)
        except AssertionError as error:
            raise AssertionError(f"{self.name}: {error}") from error

    def __str__(self) -> str:
        return f"{self.subject!r}-{self.name}"

    def __repr__(self) -> str:
        return f"<Check {self}>"


def list_checks(
    checks: Mapping[str, Callable[[T], None]], subjects: tuple[T, ...], skip: Collection[str]
) -> list[Check[T]]:
    """Return every check of every subject, without those named in `skip`.

    Raises
    ------
    ValueError
        If a name in `skip` is not that of a check.
    """
    for name in skip:
        if name not in checks:
            near = nearest(name, list(checks))
            hint = f"did you mean {near!r}?" if near else f"the checks are {', '.join(checks)}"
            raise ValueError(f"skip: there is no check {name!r}; {hint}")
    return [
        Check(name, subject, function)
        for subject in subjects
        for name, function in checks.items()
        if name not in skip
    ]


def run_all(checks: list[Check[T]], progress: bool | None) -> None:
    """Run all checks, and raise one AssertionError for all that fail.

    An error of another kind counts as a failure. Checks that fail with the same message, as when a
    kernel does not compile, share an entry.
    """
    __tracebackhide__ = True
    refuse_inside()
    failures: dict[str, list[str]] = {}
    first: Exception | None = None
    with progress_bar(len(checks), progress, unit="check") as bar:
        for check in checks:
            try:
                with compiling("at once"), checks_on(check.subject):
                    check.function(check.subject)
            except Exception as error:
                first = first or error
                failures.setdefault(_what(error), []).append(check.name)
            bar.update()
    if failures:
        count = sum(len(names) for names in failures.values())
        lines = [f"{', '.join(names)}: {what}" for what, names in failures.items()]
        subject = repr(checks[0].subject)
        head = f"{subject} fails {count} of {len(checks)} checks"
        raise AssertionError("\n- ".join([head, *lines])) from first


def _what(error: Exception) -> str:
    text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} …"
