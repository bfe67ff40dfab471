"""Settings of every test."""

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
