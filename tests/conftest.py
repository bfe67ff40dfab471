"""Settings of every test."""

import pytest
from hypothesis import HealthCheck, settings

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Share the tests between processes by what they compile: a policy, or else a file."""
    for item in items:
        group = item.path.name
        if item.path.name == "test_policies.py" and item.originalname == "test_policy":
            group = type(item.callspec.params["policy"]).__name__
        item.add_marker(pytest.mark.xdist_group(group))
