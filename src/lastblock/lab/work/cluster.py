"""Compute chunks on a Dask cluster, through the interface of `concurrent.futures`.

When a worker is lost, Dask gives its chunk to another one. Classes from outside the package, such
as a policy in a user's file, travel with the chunk together with all code that they call. So
workers need only the package itself.
"""

import asyncio
import io
import logging
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any

from lastblock.kernels.fingerprint import is_users
from lastblock.kernels.jit import is_kernel, make_kernel_again, uncompiled
from lastblock.lab.registries import REGISTRIES

_SECONDS_TO_CONNECT = 5


class ClusterError(ConnectionError):
    """Raised if a cluster cannot be reached, or is lost."""


class ClusterExecutor(Executor):
    """An executor that runs work on a Dask cluster; `connect` makes one."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # A chunk that fails is not tried again: it would fail on every worker, and the user should
        # see why. If a worker is lost, the scheduler itself gives its chunk to another one.
        self._executor = client.get_executor(pure=False)
        self._own_modules = _OwnModules()

    @property
    def workers(self) -> int:
        """The number of workers at this moment."""
        return len(self._client.nthreads())

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function on one of the workers, and return a future of its result."""
        self._own_modules.pickle_by_value()
        own = [
            {name: cls for name, cls in registry.items() if _is_own(cls.__module__)}
            for registry in REGISTRIES
        ]
        call = _dumps((function, args, kwargs))
        future: Future[Any] = self._executor.submit(_call, _dumps(own), call)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what was submitted; with `cancel_futures`, cancel it."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._own_modules.forget()


@contextmanager
def connect(address: str) -> Iterator[ClusterExecutor]:
    """Connect to a Dask cluster; within ``with``, the executor runs work on it.

    Parameters
    ----------
    address
        The address of the Dask scheduler, such as ``tcp://10.0.0.1:8786``.

    Yields
    ------
    ClusterExecutor
        An executor for `run`.

    Raises
    ------
    ClusterError
        If no scheduler answers, or if the scheduler or its workers are lost.

    Examples
    --------
    >>> import lastblock as lb
    >>> with lb.lab.connect("tcp://10.0.0.1:8786") as executor:  # doctest: +SKIP
    ...     lb.lab.run(scenario, executor=executor)
    """
    import distributed  # an optional dependency, and slow to import  # noqa: PLC0415

    with _quiet():
        try:
            _knock(address)
            with warnings.catch_warnings():  # `compute` checks the versions that matter
                warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
                client = distributed.Client(
                    address, timeout=_SECONDS_TO_CONNECT, set_as_default=False
                )
        except Exception as error:  # anything may answer at this address, or nothing
            raise ClusterError(
                f"no Dask scheduler answers at {address!r} ({_first_line(error)}); "
                "check the address, such as tcp://host:8786, and that the scheduler runs"
            ) from error
        executor = ClusterExecutor(client)
        # A client that has lost its scheduler closes itself, and then refuses all calls.
        closed = distributed.client.ClosedClientError
        try:
            yield executor
        except distributed.KilledWorker as error:
            raise ClusterError(
                f"the workers at {address} died again and again over the same chunk; "
                "look into their logs (too little memory?) and run again: finished work is kept"
            ) from error
        except (CancelledError, distributed.comm.CommClosedError, closed) as error:
            raise ClusterError(
                f"the scheduler at {address} is lost; start it and run again: finished work is kept"
            ) from error
        finally:
            with suppress(closed):
                executor.shutdown(cancel_futures=True)
            client.close(timeout=_SECONDS_TO_CONNECT)


def _knock(address: str) -> None:
    """Check that a scheduler answers; a client that finds none is noisy and slow to give up."""
    import distributed  # noqa: PLC0415  # optional, and slow to import

    async def knock() -> None:
        settings = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=_SECONDS_TO_CONNECT, **settings)
        await comm.close()

    with ThreadPoolExecutor(1) as thread:  # a new thread has no event loop, a notebook's has one
        thread.submit(asyncio.run, knock()).result()


_registering = threading.Lock()


def _call(own: bytes, call: bytes) -> Any:
    """On a worker, register the user's policies and arms, then call the function."""
    with _registering:  # first: a policy that wraps another checks that it is registered
        for registry, classes in zip(REGISTRIES, pickle.loads(own), strict=True):
            registry.update(classes)
        function, args, kwargs = pickle.loads(call)
    return function(*args, **kwargs)


def _dumps(value: Any) -> bytes:
    """Return a pickle that includes the code of the user's classes."""
    import cloudpickle  # noqa: PLC0415  # optional, and slow to import

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it ships no type information
        def reducer_override(self, obj: Any) -> Any:
            # Any other way would make the worker look for the file of the user's class.
            if isinstance(obj, tuple) and _is_own(type(obj).__module__):
                return type(obj), tuple(obj)
            reduced = super().reducer_override(obj)
            if reduced is NotImplemented or not (isinstance(obj, FunctionType) and is_kernel(obj)):
                return reduced
            # Numba would pickle the function within its compiled code by the name of its module.
            make, arguments, (attributes, others), *_, fill = reduced
            state = fill, (uncompiled(attributes), others)
            return make, arguments, state, None, None, _fill_kernel

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _fill_kernel(function: Any, state: tuple[Callable[..., None], Any]) -> None:
    """On a worker, give a new function its code and attributes, and make it a kernel."""
    fill, contents = state
    fill(function, contents)
    make_kernel_again(function)


class _OwnModules:
    """The user's modules, whose code travels to the workers."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._registered: list[Any] = []

    def pickle_by_value(self) -> None:
        """Let the code of all user modules travel; some may be new since the last call."""
        import cloudpickle  # noqa: PLC0415  # optional, and slow to import

        for name in sys.modules.keys() - self._seen:
            self._seen.add(name)
            known = {"__main__", *cloudpickle.list_registry_pickle_by_value()}
            module = sys.modules[name]
            if _is_own(name) and module.__name__ in sys.modules.keys() - known:
                cloudpickle.register_pickle_by_value(module)
                self._registered.append(module)

    def forget(self) -> None:
        """Restore cloudpickle's settings."""
        import cloudpickle  # noqa: PLC0415  # optional, and slow to import

        while self._registered:
            cloudpickle.unregister_pickle_by_value(self._registered.pop())


def _is_own(name: str) -> bool:
    """Return whether a module is a file of the user's: neither of this package nor installed."""
    return getattr(sys.modules.get(name), "__file__", None) is not None and is_users(name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's log of each attempt to connect and each lost worker; our errors say enough."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
