"""Settings of every test."""

import gc
import re
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

import lastblock as lb
from lastblock.fleet import batches
from lastblock.kernels import jit
from lastblock.kernels.background import compiling
from lastblock.kernels.numba_on_demand import make_ready
from lastblock.testing import worlds
from store.postgres_server import Server, why_not
from trials import QUICK_POLICIES

# The same examples on every run and every machine. The first example of a test may compile a
# kernel, so time says nothing.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fixed")

# Each compilation leaves hundreds of thousands of objects. Python would look for garbage among them
# right after it, in vain, for a twentieth of the time.
gc.set_threshold(500_000, *gc.get_threshold()[1:])

make_ready()  # some tests call kernels from code that they compile themselves

# Read by type checkers, or run in a process of its own; importing the mistakes would make them.
# The program among the data writes files that never change. One file is slow to import.
collect_ignore = ["typing", "data", "serve/fuzz.py"]
collect_ignore_glob = ["testing/*mutants.py", "*conftest.py"]  # the latter have no doctests


PLAIN_FILES = {
    *("test_answers", "test_any_life", "test_arms_that_come_and_go", "test_changes"),
    *("test_documents", "test_eligibility", "test_floors", "test_formats", "test_live_refusals"),
    *("test_observing", "test_state_files", "test_summary", "test_words"),
}
"""Files in which live bandits decide in plain Python: few decisions with many policies, which
would take longer to compile. The conformance suite compiles every policy anyway."""


@pytest.fixture(autouse=True, scope="module")
def _compiled_or_plain(request):
    """Live bandits are compiled before they decide, or never.

    Tests of compilation in the background choose ``compiling("soon")`` themselves.
    """
    with compiling("never" if request.path.stem in PLAIN_FILES else "at once"):
        yield


@pytest.fixture
def plain():
    """Live bandits and fleets decide in plain Python: few decisions in a record of their own."""

    def uncompiled(kernel, *arguments):
        return jit.plain(kernel)

    with compiling("never"), mock.patch.object(batches, "specialise", uncompiled):
        yield


CONFORMANCE = re.compile(r".*test_policies\.py::(?:test_policy|test_jit_\w+)\[(\w+)")


def pytest_make_parametrize_id(val):
    """Name a policy among a test's parameters by its class, for `policy_of`."""
    return type(val).__name__ if type(val) in lb.POLICIES.values() else None


OF_A_POLICY = re.compile(
    r"tests/(?:oracle|policies|statistical)/|tests/lab/test_table1|src/lastblock/polic"
)
WORDS = re.compile(r"[a-z0-9]+")


def named_in(text):
    """Return the policy that a text names first, spelt somehow; None if it names none."""
    words = WORDS.findall(text.lower())
    found = [
        (place, -len(name), cls)
        for cls in lb.POLICIES
        if (place := "".join(words).find(name := cls.lower())) >= 0
        if len(name) > 3 or name in words  # "med" is in many words
    ]
    return min(found)[2] if found else None


def policy_of(nodeid):
    """Return the policy that a test is about, by its parameters or its name; None for several."""
    if conforms := CONFORMANCE.match(nodeid):
        return conforms[1]
    path, _, test = nodeid.partition("::")
    if "::test_detector[" in nodeid or path.startswith("src/lastblock/detectors"):
        return "Restarting"
    if not OF_A_POLICY.match(path):
        return None
    name, _, parameters = test.partition("[")
    if policy := named_in(parameters) or named_in(name.rpartition(".")[2]):
        return policy
    return named_in(path)


TOGETHER = re.compile(
    r"tests/(?:arms|core|fleet|live)(?!/test_(?:programs_that_end_early|start|warming))"
)
"""Folders whose files share kernels, but for those whose tests wait for other processes."""


def group(nodeid):
    """Tests that compile the same kernels, for one process: of a policy, a folder, or else a file.

    A process finds in the cache on disk what another one has compiled, but only as a whole: for
    another entry, it compiles the policy's methods once more.
    """
    folder = TOGETHER.match(nodeid)
    return policy_of(nodeid) or (folder[0] if folder else nodeid.partition("::")[0])


QUICK_FOLDERS = {"arms", "core", "environments", "live", "policies", "replay", "simulation"}


def is_quick(item):
    """Return whether a test belongs to `make quick`."""
    if item.get_closest_marker("trial") or item.nodeid.startswith("src/"):
        return False
    if policy := CONFORMANCE.match(item.nodeid):
        return policy[1] in QUICK_POLICIES and "test_jit" not in item.nodeid
    return item.path.parent.name in QUICK_FOLDERS


LONGEST_FILES = [  # those whose tests wait for other processes come first: others work meanwhile
    *("test_documents", "fleet", "core", "live", "test_kills_and_interrupts", "test_store_forks"),
    *("test_dashboard_in_a_browser", "test_postgres_server_goes", "test_postgres"),
    *("test_own_package", "test_conformance_suite", "test_soak", "test_many_out"),
    *("test_replay_laws", "test_compile_cache", "test_report_in_a_browser", "test_cli"),
    *("test_runner", "test_store", "test_server", "test_suite"),
]
"""Files, and folders of `TOGETHER`, that take longest, which no process should begin last."""


def turn(item):
    """Return when a test's turn is: long files, other files, then policies one after the other.

    Most policies take some seconds. If these come last, no process waits long for the other.
    """
    name = item.path.parent.name if TOGETHER.match(item.nodeid) else item.path.stem
    place = LONGEST_FILES.index(name) if name in LONGEST_FILES else len(LONGEST_FILES)
    return policy_of(item.nodeid) or "", place


def pytest_collection_modifyitems(config, items):
    """Mark the tests of `make quick`; in one of several processes, put them in order."""
    for item in items:
        if is_quick(item):
            item.add_marker("quick")
    if hasattr(config, "workerinput"):
        items.sort(key=turn)


def pytest_collection_finish():
    """Search what was imported and collected for garbage once, and not again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share the tests between processes by `group` (`--dist loadscope`)."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415  # only where it runs

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group(nodeid)

    config.option.loadscopereorder = False  # `turn` gives the order, not the number of tests
    return Groups(config, log)


@pytest.fixture(scope="session")
def kept_kernels():
    """The kernels that servers in other processes need are in the cache.

    Else each server would compile them in the background, again and again if it is killed.
    """
    for policy in (lb.LBSDAGM(), lb.LBSDALM()):
        lb.Bandit(policy, worlds.ARMS, seed=1, compiled=True)


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, for all tests of this process."""
    if reason := why_not():
        pytest.skip(reason)
    made = Server()
    yield made
    made.close()


@pytest.fixture
def own_imports():
    """Policies and arms that a scenario imports are gone after the test."""
    files = mock.patch.dict("lastblock.lab.scenario_files.imports._files")
    with mock.patch.dict(lb.POLICIES), mock.patch.dict(lb.FAMILIES), files:
        yield
