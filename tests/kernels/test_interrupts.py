"""Interrupts wait for a compilation, and are not lost."""

import signal
import threading

import pytest
from numba.core import typeinfer

from lastblock.kernels import jit
from lastblock.kernels.interrupts import deferred_interrupts
from processes import run_python


@pytest.fixture(autouse=True)
def heard():
    """Hear interrupts, even where they are ignored (`nohup make test &`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_handlers_of_ones_own_are_called_once_each_and_come_back():
    called = []

    def handler(number, frame):
        called.append(number)
        raise InterruptedError

    @deferred_interrupts()
    def work():
        for _ in range(3):
            signal.raise_signal(signal.SIGUSR2)
            signal.raise_signal(signal.SIGUSR1)
        assert called == []

    before = {n: signal.signal(n, handler) for n in (signal.SIGUSR1, signal.SIGUSR2)}
    try:
        with pytest.raises(InterruptedError):
            work()
        assert sorted(called) == [signal.SIGUSR1, signal.SIGUSR2]
        assert {signal.getsignal(n) for n in before} == {handler}
    finally:
        for n, old in before.items():
            signal.signal(n, old)


def test_an_error_of_the_block_is_not_lost():
    @deferred_interrupts()
    def work():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("mine")

    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    assert isinstance(caught.value.__context__, ValueError)
    with pytest.raises(ValueError, match="mine"), deferred_interrupts():
        raise ValueError("mine")


def test_what_ignores_interrupts_goes_on_doing_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_blocks_may_be_nested_and_other_threads_have_none():
    done = []

    @deferred_interrupts()
    def work():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
        done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    raised = []

    def elsewhere():
        with deferred_interrupts():
            raised.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert raised == [signal.default_int_handler]


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("call", [jit.specialise, lambda function, x: function(x)])
def test_an_interrupt_waits_for_the_compiler(call, monkeypatch):
    def twice(x):
        return 2.0 * x

    function, propagate = jit._in_memory(twice), typeinfer.TypeInferer.propagate

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return propagate(*arguments, **options)

    monkeypatch.setattr(typeinfer.TypeInferer, "propagate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call(function, 1.0)
    assert len(function.overloads) == 1  # all of it was done
    assert function(1.5) == 3.0


STORM = """
import os, signal, threading
from lastblock.kernels import jit

working, over, interrupts, result = False, threading.Event(), 0, None

def interrupt(number, frame):
    global working
    if working:
        working = False  # so that this one is dealt with before the next
        raise KeyboardInterrupt

def storm():
    while not over.wait(0.01):
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, interrupt)
functions = [jit._in_memory(eval(f"lambda x: x ** 2 + {i}")) for i in range(12)]
thread = threading.Thread(target=storm)
thread.start()
while result is None:
    try:
        working = True
        result = [function(3.0) for function in functions]
        working = False
    except KeyboardInterrupt:
        interrupts += 1
over.set()
thread.join()
assert result == [9.0 + i for i in range(12)]
print(interrupts)
"""


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
def test_a_storm_of_interrupts_breaks_no_compilation():
    done = run_python("-c", STORM)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 12  # after each of them
