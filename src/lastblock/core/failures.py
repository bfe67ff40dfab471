"""Say what went wrong in a policy, detector or arm family from outside the package.

`specialise` here is that of `kernels.jit`, for callers whose arguments may hold a user's class. An
error of such a class becomes a `PolicyError`: one line that names the class and its method and,
where they are known, the arm and the round. What the compiler said stays in its `__context__`.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from itertools import cycle
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from lastblock.core.checked import (
    CROWDED,
    EMPTY,
    HEADER,
    METHODS,
    NO_ARM,
    NOT_A_NUMBER,
    START,
    TWICE,
    RewardError,
    RoundError,
    is_checked,
    is_checked_class,
    is_own,
)
from lastblock.core.declarations import shown_place
from lastblock.core.families import FAMILIES
from lastblock.core.protocol import Record, policies_in
from lastblock.kernels import jit
from lastblock.kernels.background import SoonCompiled
from lastblock.kernels.jit import is_foreign, plain
from lastblock.kernels.record_arrays import RecordArray
from lastblock.support.errors import PolicyError

P = ParamSpec("P")
R = TypeVar("R")

_TOO_LARGE = 1 << 31


def specialise(function: Callable[P, R], *arguments: Any) -> Callable[P, R]:
    """Return the compiled code of an `entry`, as `jit.specialise` does.

    Errors of a user's class, in compilation or later, become a `PolicyError`.

    Parameters
    ----------
    function
        A function decorated with `entry` or `moment`.
    *arguments
        Examples of the arguments.

    Returns
    -------
    callable
        The compiled code; for a user's class, within a function that explains its errors.
    """
    if not any(is_foreign(argument) for argument in arguments):
        return jit.specialise(function, *arguments)
    try:
        compiled = jit.specialise(function, *arguments)
    except PolicyError:
        raise
    except Exception as error:
        raise _compile_error(error, arguments) from None
    if not any(is_checked(argument) for argument in arguments) and not jit.DISABLED:
        return compiled
    return explained(function, compiled, undo=False)


def soon_compiled(function: Callable[..., Any], *examples: Any) -> SoonCompiled:
    """Return a kernel that plain Python runs until its compiled code is ready.

    Errors of a user's class become a `PolicyError`, and leave the record as it was.

    Parameters
    ----------
    function
        A function decorated with `entry` or `moment`.
    *examples
        Arguments of the types for which to compile it.
    """
    is_users = any(is_foreign(example) for example in examples)
    return (_SoonExplained if is_users else SoonCompiled)(function, *examples)


class _SoonExplained(SoonCompiled):
    """A kernel of a user's class."""

    def wait(self) -> None:
        try:
            super().wait()
        except PolicyError:
            raise
        except Exception as error:
            raise _compile_error(error, self._examples) from None

    def _around(self, code: Callable[..., Any]) -> Callable[..., Any]:
        return explained(self.function, code, undo=True)


def explained(function: Callable[P, R], code: Callable[P, R], *, undo: bool) -> Callable[P, R]:
    """Return `code`, the compiled or plain form of `function`, with its errors explained."""
    names = list(inspect.signature(plain(function)).parameters)

    @functools.wraps(plain(function))
    def run(*arguments: P.args, **keywords: P.kwargs) -> R:
        states = _states_in(arguments) if undo else None
        before = None if states is None else states.copy()
        try:
            return code(*arguments, **keywords)
        except PolicyError:
            raise
        except Exception as error:
            found: Exception = explain_failure(error, dict(zip(names, arguments, strict=False)))
            if states is not None:
                states[:] = before
                if isinstance(error, ArithmeticError):  # compiled code may go on: 1.0 / 0.0 is inf
                    raise
            raise found from error

    return run


def _states_in(arguments: Any) -> Any:
    """Return the array of records among some arguments, or None."""
    for argument in arguments:
        found = argument.records if isinstance(argument, RecordArray) else argument
        if isinstance(found, np.ndarray) and "queue" in (found.dtype.names or ()):
            return found
    return None


def explain_failure(error: Exception, arguments: dict[str, Any]) -> PolicyError:
    """Return the PolicyError for an error that a kernel raised with these arguments."""
    states = _states_in(arguments.values())
    policy = next((value for value in arguments.values() if hasattr(value, "plan")), None)
    found = _from_traceback(error) or _from_records(states, policy, arguments)
    if found is None:  # nobody's method was running: the environment drew a reward
        return _in_environment(error, arguments, states)
    return PolicyError(found.message(error))


class Failure:
    """Where a method failed.

    Parameters
    ----------
    part
        The policy or detector.
    method
        The name of its method.
    s
        The record that has the round, or None.
    arm
        The arm that the method was about, or None.
    place
        The file and line, or None.
    bandit
        The number of the bandit in a fleet, or None.
    """

    def __init__(
        self,
        part: Any,
        method: str,
        s: Record | None,
        arm: int | None = None,
        place: str | None = None,
        bandit: int | None = None,
    ) -> None:
        self.part, self.method, self.s = part, method, s
        self.arm, self.place, self.bandit = arm, place, bandit

    def message(self, error: Exception) -> str:
        """Return one line that says what went wrong and where."""
        where = [] if self.bandit is None else [f"bandit {self.bandit}"]
        if self.arm is not None and self.method in ("observe", "full", "notice"):
            where.append(f"arm {self.arm}")
        if self.s is not None:
            where.append(f"round {int(self.s.round)}")
        if self.place is not None:
            where.append(self.place)
        at = f" ({', '.join(where)})" if where else ""
        return f"{type(self.part).__name__}.{self.method}{at}: {self._what(error)}"

    def _what(self, error: Exception) -> str:
        s = self.s
        if not isinstance(error, RoundError) or s is None:
            return _plain_words(error)
        number, *rest = error.args
        # Compiled code cannot put the arm into the error; it has left it in the queue.
        place = 0 if number == NOT_A_NUMBER else min(int(s.queued), s.queue.shape[0] - 1)
        arm = int(rest[0]) if rest else int(s.queue[place])
        arm -= 1 << 32 if arm >= _TOO_LARGE else 0
        arms = int(s.arms)
        return {
            EMPTY: "no arm is queued for the round; call enqueue(s, arm) for at least one arm"
            + (", or enqueue_all(s)" if self.method == METHODS[START] else ""),
            CROWDED: f"more arms are queued than there is room for; a round pulls each of the "
            f"{arms} arms at most once",
            NO_ARM: f"arm {arm} is queued, but there are {arms} arms, 0 to {arms - 1}",
            TWICE: f"arm {arm} is queued twice; a round pulls each arm at most once",
            HEADER: "it has changed s.arms, s.round, s.taken or, in observe, s.queued; these "
            "belong to the engine",
            NOT_A_NUMBER: f"the index of arm {arm} is not a number (nan)",
        }[number]


def _plain_words(error: Exception) -> str:
    match error:
        case IndexError():
            said = str(error) if "size" in str(error) else "an index is out of bounds"
            return f"{said}; s.arms is the number of arms, layout() says how long a field is"
        case AttributeError() | KeyError():
            return str(error.args[0]) if error.args else repr(error)
    return f"{type(error).__name__}: {error}"


def _from_traceback(error: Exception) -> Failure | None:
    """Return the innermost method of a user's class in the traceback, if plain Python ran it.

    For an error of `check_round`, which runs after the method, it is the method that queued.
    """
    found: Failure | None = None
    round_of: Record | None = None  # a detector's record has no round; the wrapper's has
    for frame, line in _frames(error.__traceback__):
        local, code = frame.f_locals, frame.f_code
        part, s = local.get("self"), local.get("s")
        if isinstance(s, np.void) and "queue" in (s.dtype.names or ()):
            round_of = s
        if _is_users(part) and code.co_name in METHODS:
            place = shown_place(code.co_filename, line)
            found = Failure(part, code.co_name, round_of, _whole(local.get("arm")), place)
        elif code.co_name == "check_round" and isinstance(error, RoundError):
            policy = _policy_of(error.__traceback__)
            return None if policy is None else Failure(policy, _queued_by(s), s)
    return found


def _policy_of(trace: TracebackType | None) -> Any:
    """Return the user's policy that queued a round: the one in the frames, or inside of it."""
    for frame, _ in _frames(trace):
        policy = frame.f_locals.get("policy", frame.f_locals.get("self"))
        if isinstance(policy, tuple) and is_checked(policy):
            users = [part for part, _ in _levels(policy, None) if _is_users(part)]
            return users[-1] if users else policy
    return None


def _queued_by(s: Record) -> str:
    return "start" if s.round == 1 else "plan"


def _frames(trace: TracebackType | None) -> Iterator[tuple[Any, int]]:
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _is_users(part: Any) -> bool:
    return isinstance(part, tuple) and not is_own(type(part)) and hasattr(part, "_fields")


def _whole(arm: Any) -> int | None:
    return None if arm is None else int(arm)


def _levels(policy: Any, s: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a policy and its record, then the policies that it wraps and theirs, and so on.

    `s` may be an array of records, or None.
    """
    yield policy, s
    wrapped = policies_in(policy)
    if s is None:
        records = [None for _ in wrapped]
    else:  # several records of one policy, or one of each
        kinds = [(name, s.dtype[name].names or ()) for name in s.dtype.names]
        records = [s[name] for name, fields in kinds if "queue" in fields]
    for part, inner in zip(cycle(wrapped), records, strict=False):
        yield from _levels(part, inner)


def _from_records(states: Any, policy: Any, arguments: dict[str, Any]) -> Failure | None:
    """Return the method that was running in compiled code, as the record says; clear that note."""
    if states is None or policy is None or "checked" not in states.dtype.names:
        return None
    number = _at_work(states, policy)
    if number is None:
        return None
    s = states[number]
    arm = arguments.get("arm")
    if arm is None and ("outcome" in arguments or "passes" in arguments):
        arm = s.queue[s.taken - 1] if s.taken > 0 else None  # the loop tells the last arm's reward
    found: Failure | None = None
    for part, inner in _levels(policy, s):
        method = METHODS[inner.end] if inner.end < len(METHODS) else ""
        if method in ("notice", "reset") or (method == "start" and is_own(type(part))):
            for watcher in part:
                if hasattr(watcher, "notice") and is_checked_class(type(watcher)):
                    found = Failure(watcher, "reset" if method == "start" else method, inner)
        elif method and is_checked_class(type(part)):
            found = Failure(part, method, inner)
        inner.end = 0
    if found is not None:
        found.arm = None if arm is None else int(arm)
        found.bandit = number if states.size != 1 else None
    return found


def _at_work(states: Any, policy: Any) -> int | None:
    """Return the number of the record in whose policy a method was running, or None."""
    if states.size == 1:
        return 0
    busy = np.flatnonzero(sum(inner["end"] != 0 for _, inner in _levels(policy, states)))
    return int(busy[0]) if busy.size else None


def _compile_error(error: Exception, arguments: Any) -> PolicyError:
    """Return the PolicyError for an error of the compiler."""
    from lastblock.core.compile_errors import explain_compile_error  # noqa: PLC0415  # rarely used

    return explain_compile_error(error, _users_classes(arguments))


def _users_classes(arguments: Any) -> list[type[Any]]:
    """Return the classes from outside the package among some arguments and what they hold."""
    found: list[type[Any]] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            if hasattr(argument, "_fields") and not is_own(type(argument)):
                found.append(type(argument))
            found += _users_classes(argument)
    return found


def _in_environment(error: Exception, arguments: dict[str, Any], states: Any) -> PolicyError:
    """Return the PolicyError for an arm family whose `draw` failed, or gave a wrong reward."""
    environment = arguments.get("environment")
    where, codes = "", list(range(len(FAMILIES)))
    if environment is not None and states is not None and states[0].taken > 0:
        arm = int(states[0].queue[states[0].taken - 1])
        where = f" (arm {arm}, round {int(states[0].round)})"
        codes = environment.codes[:, arm].tolist()
    known = list(FAMILIES.values())
    users = [known[code].__name__ for code in dict.fromkeys(codes) if not is_own(known[code])]
    name = f"{' or '.join(users)}.draw" if users else "a kernel"
    if isinstance(error, RewardError):
        reward = f" {error.args[0]}" if error.args else ""
        what = (
            f"the policy does not take the reward{reward}: it is not a finite number, or outside "
            "what support() says"
        )
    else:
        what = _plain_words(error)
    return PolicyError(f"{name}{where}: {what}")
