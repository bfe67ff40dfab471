"""The service on PostgreSQL: the same answers, on a store that machines share."""

import pytest

from lastblock.serve.alerts import Watcher
from serve.client import Service

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
DECIDE = "/v1/bandits/button/decisions"


@pytest.fixture
def place(server):
    return server.url(schema="served")


def test_decisions_and_keys_survive_a_restart(place):
    shop = Service(place)
    try:
        assert shop.post("/v1/bandits", NEW).status == 201
        made = shop.send(*[{"method": "POST", "path": DECIDE}] * 10)
        tokens = [each.json["token"] for each in made]
        rewards = [{"token": token, "reward": 1.0} for token in tokens[:5]]
        assert shop.post("/v1/rewards:batch", {"rewards": rewards}).status == 204
        assert shop.patch("/v1/bandits/button", {"description": "kept"}).status == 200
        key = shop.key
    finally:
        shop.close()
    other = Service(place)
    try:
        found = other.get("/v1/bandits/button", key=key).json
        assert (found["decisions"], found["waiting"], found["description"]) == (10, 5, "kept")
        assert other.put(f"/v1/decisions/{tokens[0]}/reward", {"reward": 1.0}).status == 204
        assert other.put(f"/v1/decisions/{tokens[0]}/reward", {"reward": 0.0}).status == 409
        path = f"/v1/bandits/button/explanation?decision={tokens[3]}"
        assert other.get(path).json["round"] >= 1
    finally:
        other.close()


def test_a_server_that_takes_over_tells_of_nothing_twice(place):
    first, second = Service(place), None
    try:
        second = Service(place)
        watchers = [Watcher(each.state.host, each.state.alerts) for each in (first, second)]
        first.post("/v1/bandits", {**NEW, "name": "guarded"})
        for arm in ("red", "green"):
            first.patch(f"/v1/bandits/guarded/arms/{arm}", {"paused": True})
            first.runner.run(watchers[0].look())
            first.runner.run(first.state.alerts.keep())
            second.runner.run(watchers[1].look())
        assert [each.data["arm"] for each in first.state.alerts.latest()] == ["green", "red"]
        first.close()
        assert second.post("/v1/bandits/guarded/decisions").status == 201
        second.runner.run(watchers[1].look())
        assert second.state.alerts.latest() == []
        second.patch("/v1/bandits/guarded/arms/green", {"paused": False})
        second.runner.run(watchers[1].look())
        second.patch("/v1/bandits/guarded/arms/green", {"paused": True})
        second.runner.run(watchers[1].look())
        assert [each.data["arm"] for each in second.state.alerts.latest()] == ["green"]
    finally:
        first.close()
        if second is not None:
            second.close()
