"""Every operation of the API gets requests as its description allows and forbids them."""

import pytest

from lastblock.kernels.background import compiling
from serve.client import Service
from trials import short_and_long


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    """Nothing is compiled: decisions are few."""
    from serve.fuzz import Fuzzer  # noqa: PLC0415  # slow to import, for one process of several

    with compiling("never"):
        service = Service(tmp_path_factory.mktemp("fuzz") / "shop.db", durability="never")
        yield Fuzzer(service)
        service.close()


@short_and_long("examples", 4, 30)
def test_no_request_makes_it_fail(fuzzer, examples):
    fuzzer.try_all(examples)
    most = examples * len(fuzzer.operations)
    assert fuzzer.statuses.total() >= 0.75 * most  # some have few requests
    accepted = sum(map(bool, fuzzer.accepted.values()))
    assert accepted >= 0.8 * len(fuzzer.operations) or examples < 30
    # It has been let in, and has been refused.
    assert {200, 201, 204, 404, 422} <= fuzzer.statuses.keys()
