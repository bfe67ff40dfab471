"""Settings of every test."""

import gc
import importlib
import re
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

import lastblock as lb
from lastblock.core.layout import room_for, state_dtype
from lastblock.kernels.background import compiling
from lastblock.kernels.numba_on_demand import make_ready
from lastblock.lab.scenario_files import imports
from lastblock.testing import worlds
from store.postgres_server import Server, why_not

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
gc.set_threshold(100_000, *gc.get_threshold()[1:])

make_ready()  # some tests call kernels from code that they compile themselves

# Read by type checkers, or run in a process of its own; importing the mistakes would make them.
# The programs among the data ran once, with older versions.
collect_ignore = ["typing", "data"]
collect_ignore_glob = ["testing/*mutants.py", "*conftest.py"]  # the latter have no doctests


PLAIN_FILES = {"test_documents", "test_old_files"}
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
    """Live bandits decide in plain Python: few decisions in a record that nobody else has."""
    with compiling("never"):
        yield


CONFORMANCE = re.compile(r".*test_policies\.py::(?:test_policy|test_jit_\w+)\[(\w+)")


def group(nodeid):
    """Tests that compile the same kernels, for one process: those of a policy, or else a file."""
    policy = CONFORMANCE.match(nodeid)
    if "::test_detector[" in nodeid:
        return "Restarting"
    return policy[1] if policy else nodeid.partition("::")[0]


QUICK_POLICIES = {
    "LBSDA",
    "LBSDAGM",
    "LBSDALM",
    "SWLBSDA",
    "AdaptiveLBSDA",
    "UCB1",
    "KLUCB",
    "Thompson",
    "EXP3",
    "Restarting",
}
"""The policies whose kernels `make quick` needs."""

SLOW_FOLDERS = {"oracle", "smoke", "statistical", "testing"}
SLOW_FILES = {  # many policies, other processes, a browser, or every page
    "test_a_damaged_record_costs_no_other",
    "test_cli",
    "test_cli_mistakes",
    "test_cluster",
    "test_compact",
    "test_compile_cache",
    "test_copies",
    "test_damaged_stores",
    "test_documents",
    "test_examples",
    "test_fleet_forks",
    "test_interrupts",
    "test_kills_and_interrupts",
    "test_many_out",
    "test_marks",
    "test_names",
    "test_notebook",
    "test_platforms",
    "test_postgres",
    "test_postgres_schema",
    "test_postgres_server_goes",
    "test_reading_while_others_write",
    "test_report",
    "test_report_in_a_browser",
    "test_runner",
    "test_server",
    "test_service_examples",
    "test_soak",
    "test_site",
    "test_snapshots",
    "test_store",
    "test_store_forks",
    "test_suite",
    "test_suite_command",
    "test_the_program",
    "test_words_of_wrappers",
}


def is_quick(item):
    """Return whether a test belongs to `make quick`."""
    policy = CONFORMANCE.match(item.nodeid)
    if policy:
        return policy[1] in QUICK_POLICIES and "test_jit" not in item.nodeid
    is_doctest = item.nodeid.startswith("src/")
    is_slow = item.path.parent.name in SLOW_FOLDERS or item.path.stem in SLOW_FILES
    return not (is_doctest or is_slow or item.get_closest_marker("slow"))


LONGEST_FILES = [  # those whose tests wait for other processes come first: others work meanwhile
    "test_documents",
    "test_kills_and_interrupts",
    "test_randomised_laws",
    "test_store_forks",
    "test_dashboard_in_a_browser",
    "test_subsampling",
    "test_postgres_server_goes",
    "test_postgres",
    "test_agreement",
    "test_arms_and_words",
    "test_subsampling_laws",
    "test_own_package",
    "test_words_of_wrappers",
    "test_conformance_suite",
    "test_randomised",
    "test_soak",
    "test_many_out",
    "test_klucb",
    "test_ucb",
    "test_adaptive",
    "test_replay_laws",
    "test_reference_regret",
    "test_compact",
    "test_compile_cache",
    "test_report_in_a_browser",
    "test_cli",
    "test_runner",
    "test_store",
    "test_fleet",
    "test_server",
    "test_suite",
    "test_checked",
]
"""Groups that take longest, which no process should begin last."""


def turn(item):
    """Return when a test's turn is: long files, other files, then policies one after the other.

    A policy takes some seconds. If these come last, no process waits long for the other.
    """
    if CONFORMANCE.match(item.nodeid):
        return len(LONGEST_FILES) + 1
    stem = item.path.stem
    return LONGEST_FILES.index(stem) if stem in LONGEST_FILES else len(LONGEST_FILES)


def pytest_collection_modifyitems(config, items):
    """Mark the tests of `make quick`; in one of several processes, put them in order."""
    for item in items:
        if is_quick(item):
            item.add_marker("quick")
    if hasattr(config, "workerinput"):
        items.sort(key=turn)


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
def server():
    """A PostgreSQL server, for all tests of this process."""
    if reason := why_not():
        pytest.skip(reason)
    made = Server()
    yield made
    made.close()


SHARED_HORIZONS = (worlds.HORIZON, 1600, 10_000)
"""Those of the conformance suite and of the paper, for which records are compiled anyway."""


@pytest.fixture
def shared_records(monkeypatch):
    """`simulate` plays in records with room to spare, if that saves a compilation.

    Two or three arms take a record for four, as in a live bandit. If a policy keeps every reward, a
    short run takes the record of a longer one. No decision depends on the room that is left; the
    oracles play in records that are full.
    """
    room = room_for(worlds.ARMS)

    def roomy(policy, arms, horizon):
        longer = next((long for long in SHARED_HORIZONS if horizon <= long), horizon)
        return state_dtype(policy, arms, longer, room=max(arms, room))

    for user in ("lastblock.simulation.simulate", "lastblock.testing.declared"):
        monkeypatch.setattr(importlib.import_module(user), "state_dtype", roomy)


@pytest.fixture
def own_imports():
    """Policies and arms that a scenario imports are gone after the test."""
    with mock.patch.dict(lb.POLICIES), mock.patch.dict(lb.FAMILIES):
        yield
    imports.forget_files()
