"""A run that cannot be done is refused before it begins, with figures; one that goes on says so."""

import pytest

import lastblock as lb
from lastblock.cli import running
from lastblock.cli.program import main
from lastblock.lab.work import needs, runner
from lastblock.support import amounts

GIB = 1 << 30


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(needs, "machine_memory", lambda: 8 * GIB)
    monkeypatch.setattr(needs, "cores", lambda: 2)


def scenario(**changes):
    return lb.lab.Scenario(
        "needs",
        lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.6)]),
        **{"horizon": 100, "policies": {"UCB1": lb.UCB1()}, "replications": 10, **changes},
    )


def test_a_scenario_of_too_many_replications(small_machine, tmp_path):
    with pytest.raises(lb.lab.ScenarioError) as error:
        lb.lab.run(scenario(replications=10**12), out=tmp_path)
    said = str(error.value)
    assert said.startswith(
        "scenario 'needs': 1,000,000,000,000 replications of 100 steps with 1 policies would "
        "take at least 5.79 days on 2 cores and about "
    )
    assert "TiB of memory; this machine has 8 GiB, enough for about " in said
    most = int(said.partition("enough for about ")[2].split()[0].replace(",", ""))
    assert needs.memory_of(scenario(), most) <= 8 * GIB < needs.memory_of(scenario(), 3 * most)


def test_a_scenario_of_years(small_machine, tmp_path):
    with pytest.raises(lb.lab.ScenarioError, match=r"least 11\.4 years on 2 cores .* fewer repl"):
        lb.lab.run(scenario(horizon=1 << 53, replications=8), out=tmp_path)


def test_the_command_refuses_in_one_line(small_machine, tmp_path, capsys):
    command = ["run", "stationary", "--replications", str(10**12), "--out", str(tmp_path)]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(
        "lastblock: error: scenario 'stationary': 1,000,000,000,000 replications"
    )
    assert line.endswith(" replications")


def test_the_estimate_is_no_less_than_what_the_tables_take(tmp_path):
    made = scenario(replications=2000)
    result = lb.lab.run(made, out=tmp_path)
    tables = (result.final, result.delays)
    held = sum(table.memory_usage(deep=True).sum() for table in tables)
    assert held <= needs.memory_of(made, 2000) <= 100 * held


def test_progress_of_a_run_that_goes_on_starts_where_it_was(tmp_path, monkeypatch):
    made = scenario(horizon=10_000, replications=600)  # three chunks of 200 replications
    lb.lab.run(made, out=tmp_path, replications=400)
    shown = []

    class Bar:
        def __init__(self, total, progress, *, unit, name=None, done=0):
            shown.append((total, done))

        def update(self, steps):
            shown.append(steps)

        def set_description(self, text):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(runner, "progress_bar", Bar)
    lb.lab.run(made, out=tmp_path)
    assert shown == [(6_000_000, 4_000_000), 2_000_000]
    shown.clear()
    monkeypatch.setattr(running, "progress_bar", Bar)
    meter = running.Meter(6_000_000, 2_000_000, quiet=False)
    meter.update(2_000_000)
    assert shown == [(6_000_000, 4_000_000), 2_000_000]
    assert meter.steps == 2_000_000  # the pace counts what was computed now


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (2048, "2 KiB"), (1.5 * GIB, "1.5 GiB"), (2.0**72, "4,096 EiB")],
)
def test_bytes_in_words(size, words):
    assert amounts.in_bytes(size) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "5 seconds"), (7200, "2 hours"), (4e7, "1.27 years"), (1e20, "3.17e+06 million years")],
)
def test_seconds_in_words(seconds, words):
    assert amounts.in_time(seconds) == words


def test_the_memory_of_this_machine():
    memory = amounts.machine_memory()
    assert memory is None or memory > 1 << 28
