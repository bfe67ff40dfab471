"""The service on PostgreSQL: the same answers, on a store that machines share."""

from contextlib import ExitStack

import pytest

from lastblock.serve.alerts import Watcher
from serve.client import Service

GUARDED = "/v1/bandits/guarded"


@pytest.fixture
def start(server):
    """Starts services on one database; each ends with the test at the latest."""
    place = server.url(schema="served")
    with ExitStack() as ends:

        def begin():
            made = Service(place)
            ends.callback(made.close)
            return made

        yield begin


def test_decisions_and_keys_survive_a_restart(start):
    shop = start()
    shop.create()
    made = shop.send(*[{"method": "POST", "path": "/v1/bandits/button/decisions"}] * 10)
    tokens = [each.json["token"] for each in made]
    rewards = [{"token": token, "reward": 1.0} for token in tokens[:5]]
    assert shop.post("/v1/rewards:batch", {"rewards": rewards}).status == 204
    assert shop.patch("/v1/bandits/button", {"description": "kept"}).status == 200
    shop.close()
    other = start()
    found = other.get("/v1/bandits/button", key=shop.key).json
    assert (found["decisions"], found["waiting"], found["description"]) == (10, 5, "kept")
    assert other.reward(tokens[0], 1.0).status == 204
    assert other.reward(tokens[0], 0.0).status == 409
    path = f"/v1/bandits/button/explanation?decision={tokens[3]}"
    assert other.get(path).json["round"] >= 1


def test_a_server_that_takes_over_tells_of_nothing_twice(start):
    first, second = start(), start()
    watchers = [Watcher(each.state.host, each.state.alerts) for each in (first, second)]
    first.create("guarded")
    for arm in ("red", "green"):
        first.patch(f"{GUARDED}/arms/{arm}", {"paused": True})
        first.runner.run(watchers[0].look())
        first.runner.run(first.state.alerts.keep())
        second.runner.run(watchers[1].look())
    assert [each.data["arm"] for each in first.state.alerts.latest()] == ["green", "red"]
    first.close()
    assert second.decide("guarded").status == 201
    second.runner.run(watchers[1].look())
    assert second.state.alerts.latest() == []
    for paused in (False, True):
        second.patch(f"{GUARDED}/arms/green", {"paused": paused})
        second.runner.run(watchers[1].look())
    assert [each.data["arm"] for each in second.state.alerts.latest()] == ["green"]
