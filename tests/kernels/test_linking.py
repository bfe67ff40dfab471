"""Kernels are compiled once, with the entry that calls them."""

import gc
import threading

import numba
import numpy as np
import pytest

from lastblock.kernels import linking
from lastblock.kernels.garbage import rare_collections
from lastblock.kernels.jit import DISABLED, INLINE, entry, kernel, routine

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


@routine
def doubled(x: float) -> float:
    return 2.0 * x


@kernel
def shifted(x: float) -> float:
    return doubled(x) + int(x) + max(x, 0.5)


@kernel
def told(x: float) -> float:
    print("told", x)
    return shifted(x)


@entry
def run(x: float) -> float:
    return shifted(x) + doubled(x)


def in_memory(function, **options):
    return numba.njit(**linking.linked({"_nrt": False, "error_model": "numpy", **options}))(
        function
    )


def test_an_entry_runs_the_kernels_of_its_kernels():
    assert run(3.0) == 18.0


def test_functions_that_numba_compiles_its_way_can_call_kernels():
    @numba.njit
    def theirs(x):
        return shifted(x) + doubled(x)

    assert theirs(3.0) == 18.0


def test_a_kernel_that_prints_finds_its_words(capfd):
    """Its constants lie with the machine code, which only the entry has."""

    def ours(x):
        return told(x)

    assert in_memory(ours)(3.0) == 12.0
    assert capfd.readouterr().out == "told 3.0\n"


def test_an_error_in_a_kernel_reaches_python():
    @kernel
    def refused(x):
        if x > 1.0:
            raise ValueError("too large")
        return x

    def ours(x):
        return refused(x)

    compiled = in_memory(ours)
    assert compiled(0.5) == 0.5
    with pytest.raises(ValueError, match="too large"):
        compiled(1.5)


@pytest.mark.parametrize(
    ("needed", "names"),
    [("_NEEDED", ("a_method_of_the_future",)), ("_ATTRIBUTES", {"an_attribute_of_the_future"})],
)
def test_another_numba_compiles_its_way(monkeypatch, needed, names):
    assert linking._compilers.__wrapped__() is not None
    monkeypatch.setattr(linking, needed, names)
    assert linking._compilers.__wrapped__() is None
    monkeypatch.setattr(linking, "_compilers", lambda: None)
    assert linking.linked(INLINE) == INLINE


@pytest.fixture
def thresholds():
    """Python's own, which the other tests do without."""
    before, own = gc.get_threshold(), (700, 10, 10)
    gc.set_threshold(*own)
    yield own
    gc.set_threshold(*before)


def test_searches_for_garbage_are_rare_until_the_last_block_ends(thresholds):
    inside, leave = threading.Event(), threading.Event()

    def other():
        with rare_collections():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with rare_collections():
        assert gc.get_threshold()[0] == 100_000
        thread.start()
        inside.wait(60)
    assert gc.get_threshold()[0] == 100_000
    leave.set()
    thread.join()
    assert gc.get_threshold() == thresholds


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize("threshold", [0, 200_000])
def test_a_programs_own_setting_stays(threshold):
    gc.set_threshold(threshold)
    with rare_collections():
        assert gc.get_threshold()[0] == threshold
    assert gc.get_threshold()[0] == threshold


def test_compiled_arithmetic_is_as_written():
    """Linking late must not fuse or reorder: LLVM may do neither."""

    @kernel
    def product(x, y):
        return x * y

    def ours(x, y, z):
        return product(x, y) + z

    x = np.float64(1.0 + 2.0**-30)
    assert in_memory(ours)(x, x, -(x * x)) == 0.0
