"""Decisions and rewards over HTTP are those of the library, and are on the disk when answered."""

import pytest

import lastblock as lb
from store.databases import count

DECIDE = "/v1/bandits/button/decisions"


def test_decisions_are_those_of_the_library(shop):
    alone = lb.Bandit(lb.LBSDAGM(), ["red", "green", "blue"], seed=1)
    for step in range(60):
        mine, theirs = alone.ask(), shop.post(DECIDE).json
        assert theirs["arm"] == mine.arm
        reward = float((step * 7 % 5) == 0)
        alone.tell(mine, reward)
        assert shop.put(f"/v1/decisions/{theirs['token']}/reward", {"reward": reward}).status == 204
    pulls = {arm["label"]: arm["pulls"] for arm in shop.get("/v1/bandits/button").json["arms"]}
    assert pulls == dict(alone.pulls)


def test_what_is_answered_is_on_the_disk(shop, tmp_path):
    place = tmp_path / "shop.db"
    token = shop.post(DECIDE).json["token"]
    assert count(place) == 1
    shop.put(f"/v1/decisions/{token}/reward", {"reward": 1})
    assert count(place) == 2


def test_requests_of_one_moment_share_a_commit(shop, tmp_path):
    writes = []
    groups = shop.state.host.store._groups
    write = groups._write
    groups._write = lambda rows, snapshots: (writes.append(len(rows)), write(rows, snapshots))
    answers = shop.send(*[{"method": "POST", "path": DECIDE}] * 20)
    assert [each.status for each in answers] == [201] * 20
    assert len({each.json["token"] for each in answers}) == 20
    assert sum(writes) == 20
    assert len(writes) <= 3
    assert count(tmp_path / "shop.db") == 20


def test_a_store_that_cannot_be_written_is_a_problem_that_passes(shop):
    groups = shop.state.host.store._groups
    write = groups._write

    def fail(rows, snapshots):
        raise lb.StoreError("the disk is full")

    groups._write = fail
    first = shop.post(DECIDE)
    assert (first.status, first.kind) == (503, "unavailable")
    assert first.headers["retry-after"] == "1"
    assert "the disk is full" in first.json["detail"]
    assert shop.post(DECIDE).status == 503
    assert shop.get("/readyz").status == 503
    groups._write = write
    shop.state.host.store.flush()
    assert shop.post(DECIDE).status == 201
    assert shop.get("/readyz").status == 200
    assert shop.state.host.bandits["button"].bandit.asked == 2  # the second was never made


@pytest.mark.parametrize("durability", ["interval", "never"])
def test_other_durabilities_answer_at_once(service, durability):
    shop = service(durability=durability)
    shop.post("/v1/bandits", {"name": "button", "policy": "LBSDAGM", "arms": ["a", "b", "c"]})
    groups = shop.state.host.store._groups
    groups._interval = 60.0
    for _ in range(3):
        assert shop.post(DECIDE).status == 201
    shop.close()


def test_why_is_said_on_request(shop):
    assert "why" not in shop.post(DECIDE).json
    assert "round" in shop.post(DECIDE, {"why": True}).json["why"].lower()


def test_floors_give_probabilities(service):
    shop = service()
    new = {"name": "button", "policy": "LBSDAGM", "arms": ["a", "b", "c"], "floor": 0.1}
    shop.post("/v1/bandits", new)
    assert 0.0 < shop.post(DECIDE).json["probability"] <= 1.0


def test_a_batch_of_rewards_is_taken_whole_or_not_at_all(shop):
    shop.post("/v1/bandits", {"name": "other", "policy": "LBSDAGM", "arms": ["a", "b", "c"]})
    tokens = [each["token"] for each in shop.post(DECIDE, {"n": 3}).json["decisions"]]
    tokens.append(shop.post("/v1/bandits/other/decisions").json["token"])
    rewards = [{"token": token, "reward": 1.0} for token in tokens]
    for wrong in (
        [*rewards, rewards[0]],
        [*rewards, {"token": "x" * 32, "reward": 1.0}],
        [*rewards[:-1], {**rewards[-1], "reward": 1e300}],
    ):
        assert shop.post("/v1/rewards:batch", {"rewards": wrong}).status in (404, 409, 422)
        assert [each["waiting"] for each in shop.get("/v1/bandits").json["bandits"]] == [3, 1]
    assert shop.post("/v1/rewards:batch", {"rewards": rewards}).status == 204
    assert [each["waiting"] for each in shop.get("/v1/bandits").json["bandits"]] == [0, 0]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"n": 0}, 422),
        ({"n": 10_001}, 422),
        ({"n": "3"}, 422),
        ({"context": {}}, 422),
        ([], 422),
    ],
)
def test_wrong_decisions_are_refused(shop, body, status):
    assert shop.post(DECIDE, body).status == status
    assert shop.get("/v1/bandits/button").json["decisions"] == 0


@pytest.mark.parametrize("raw", [b"{", b"\xff", b"nul", b"{}{}"])
def test_garbage_is_not_json(shop, raw):
    assert shop.post(DECIDE, raw=raw).kind == "bad-request"


@pytest.mark.parametrize("token", ["x", "!" * 32, "é", "A" * 32, "A" * 36])
def test_forged_tokens_are_unknown(shop, token):
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 1.0}).status in (400, 404)


@pytest.mark.parametrize("reward", ["1e999", "NaN", '"1"', "null", "1e300", "true"])
def test_rewards_are_finite_numbers(shop, reward):
    token = shop.post(DECIDE).json["token"]
    raw = f'{{"reward": {reward}}}'.encode()
    assert shop.put(f"/v1/decisions/{token}/reward", raw=raw).status in (400, 422)
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 0}).status == 204
