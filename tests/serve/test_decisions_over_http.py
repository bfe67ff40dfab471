"""Decisions and rewards over HTTP are those of the library, and are on the disk when answered."""

import time

import pytest

import lastblock as lb
from store.databases import count, fetch

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
    assert count(place, where="kind <= 1") == 2


def test_requests_of_one_moment_share_a_commit(shop, tmp_path):
    writes = []
    groups = shop.state.host.store._groups
    write = groups._write
    groups._write = lambda rows, snapshots: (writes.append(len(rows)), write(rows, snapshots))
    answers = shop.send(*[{"method": "POST", "path": DECIDE}] * 20)
    assert [each.status for each in answers] == [201] * 20
    assert len({each.json["token"] for each in answers}) == 20
    assert sum(writes) == 20
    assert len(writes) <= 10  # on a busy machine they are not of one moment
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
    several = shop.post(DECIDE, {"why": True, "n": 3}).json["decisions"]
    assert ["why" in each for each in several] == [False, False, True]
    assert several[-1]["arm"] in several[-1]["why"]


def test_a_batch_of_rewards_is_taken_whole_or_not_at_all(shop):
    shop.post("/v1/bandits", {"name": "other", "policy": "LBSDAGM", "arms": ["a", "b", "c"]})
    tokens = [each["token"] for each in shop.post(DECIDE, {"n": 3}).json["decisions"]]
    tokens.append(shop.post("/v1/bandits/other/decisions").json["token"])
    rewards = [{"token": token, "reward": 1.0} for token in tokens]
    assert shop.post("/v1/rewards:batch", {"rewards": [*rewards, rewards[0]]}).kind == "conflict"
    assert [each["waiting"] for each in shop.get("/v1/bandits").json["bandits"]] == [3, 1]
    assert shop.post("/v1/rewards:batch", {"rewards": rewards}).status == 204
    assert [each["waiting"] for each in shop.get("/v1/bandits").json["bandits"]] == [0, 0]


@pytest.mark.parametrize("reward", ["1e999", "NaN", '"1"', "null", "1e300", "true"])
def test_rewards_are_finite_numbers(shop, reward):
    token = shop.post(DECIDE).json["token"]
    raw = f'{{"reward": {reward}}}'.encode()
    assert shop.put(f"/v1/decisions/{token}/reward", raw=raw).status in (400, 422)
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 0}).status == 204


def test_the_same_key_gets_the_same_decision_also_after_a_restart(service):
    shop = service()
    shop.post("/v1/bandits", {"name": "button", "policy": "LBSDAGM", "arms": ["a", "b", "c"]})
    key = {"Idempotency-Key": "page view 17"}
    first = shop.post(DECIDE, headers=key)
    assert shop.post(DECIDE, headers=key).json == first.json
    three = shop.post(DECIDE, {"n": 3}, headers={"Idempotency-Key": "x"}).json
    shop.close()
    shop = service()
    assert shop.post(DECIDE, headers=key).json == first.json
    assert shop.post(DECIDE, {"n": 3}, headers={"Idempotency-Key": "x"}).json == three
    wrong = shop.post(DECIDE, {"n": 2}, headers={"Idempotency-Key": "x"})
    assert (wrong.status, wrong.kind) == (422, "key-reused")
    arm = first.json["arm"]
    for allowed in ({"without": [arm]}, {"among": [each for each in "abc" if each != arm]}):
        batch = {"requests": [{**allowed, "key": key["Idempotency-Key"]}]}
        for wrong in (shop.post(DECIDE, allowed, headers=key), shop.post(f"{DECIDE}:batch", batch)):
            assert (wrong.status, wrong.kind) == (422, "key-reused")
            assert f"got {arm!r}, which this request does not allow" in wrong.json["detail"]
    assert shop.post(DECIDE, {"among": [arm, "x"]}, headers=key).json == first.json
    assert shop.get("/v1/bandits/button").json["decisions"] == 4


def test_the_same_reward_again_is_fine_and_another_is_not(shop):
    token = shop.post(DECIDE).json["token"]
    path = f"/v1/decisions/{token}/reward"
    assert [shop.put(path, {"reward": 1}).status for _ in range(3)] == [204, 204, 204]
    other = shop.put(path, {"reward": 0.5})
    assert (other.status, other.kind) == (409, "conflict")
    assert "1.0" in other.json["detail"]
    assert "0.5" in other.json["detail"]
    assert 'lastblock_rewards_total{bandit="button"' in shop.get("/metrics").body.decode()
    pulls = [arm["pulls"] for arm in shop.get("/v1/bandits/button").json["arms"]]
    assert sum(pulls) == 1


def test_a_batch_of_rewards_with_a_key_counts_once_where_rewards_are_collected(shop):
    new = {"name": "sums", "arms": ["red", "green"], "policy": "LBSDAGM", "aggregation": "sum"}
    assert shop.post("/v1/bandits", new).status == 201
    made = shop.post("/v1/bandits/sums/decisions", {"n": 2}).json["decisions"]
    single = shop.post(DECIDE).json  # of a bandit whose decisions have one reward each
    tokens = [each["token"] for each in (*made, single)]
    rewards = {"rewards": [{"token": token, "reward": 1} for token in tokens]}
    other = {"rewards": [{"token": token, "reward": 2} for token in tokens[:2]]}
    for key, body, kind in (("a", rewards, None), ("a", rewards, None), ("a", other, "key-reused")):
        found = shop.post("/v1/rewards:batch", body, headers={"idempotency-key": key})
        assert found.status == 204 if kind is None else found.kind == kind
    assert shop.post("/v1/rewards:batch", other, headers={"idempotency-key": "b"}).status == 204
    for token in tokens[:2]:
        for _ in range(2):
            assert shop.post(f"/v1/decisions/{token}/close").json == {"reward": 3.0}
        assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 1.0}).status == 410
    assert shop.patch("/v1/bandits/sums", {"aggregation": None}).json["aggregation"] is None


def test_batches_of_decisions_know_keys(shop):
    shop.post(DECIDE, {"n": 2}, headers={"Idempotency-Key": "old"})
    wanted = [{"key": "a"}, {"n": 3}, {"key": "old", "n": 2}, {"key": "a"}]
    made = shop.post(f"{DECIDE}:batch", {"requests": wanted})
    assert made.status == 201
    assert [len(each) for each in made.json["answers"]] == [1, 3, 2, 1]
    assert made.json["answers"][0] == made.json["answers"][3]
    assert shop.get("/v1/bandits/button").json["decisions"] == 6


def test_bandits_do_not_wait_for_one_whose_decisions_cannot_expire(service, caplog):
    shop = service()
    new = {"arms": ["red", "green", "blue"], "reward_window": 1e-6}
    shop.post("/v1/bandits", {**new, "name": "clicks", "policy": "Thompson"})
    shop.post("/v1/bandits", {**new, "name": "late", "policy": "LBSDAGM"})
    shop.state.host.bandits["clicks"].notes["default_reward"] = -1.0  # which nobody could set
    for name in ("clicks", "late"):
        shop.post(f"/v1/bandits/{name}/decisions")
    time.sleep(0.01)
    assert shop.expire() == 1
    assert "clicks" in caplog.text


def test_late_decisions_expire_with_a_default_reward(service):
    shop = service()
    new = {"name": "button", "policy": "LBSDAGM", "arms": ["a", "b", "c"], "seed": 1}
    made = shop.post("/v1/bandits", {**new, "reward_window": 0.2, "default_reward": 0.0})
    assert (made.json["reward_window"], made.json["default_reward"]) == (0.2, 0.0)
    tokens = [each["token"] for each in shop.post(DECIDE, {"n": 3}).json["decisions"]]
    assert shop.expire() == 0
    time.sleep(0.21)
    assert shop.post(f"/v1/decisions/{tokens[0]}/activate").status == 204
    assert shop.expire() == 2
    late = shop.put(f"/v1/decisions/{tokens[1]}/reward", {"reward": 1})
    assert (late.status, late.kind) == (410, "gone")
    assert shop.put(f"/v1/decisions/{tokens[0]}/reward", {"reward": 1}).status == 204
    state = shop.get("/v1/bandits/button").json
    assert (state["waiting"], sum(arm["pulls"] for arm in state["arms"])) == (0, 3)
    changes = {"reward_window": None, "default_reward": None}
    assert shop.patch("/v1/bandits/button", changes).json["reward_window"] is None


def test_decisions_may_be_among_some_arms_only(shop):
    for _ in range(5):
        assert shop.post(DECIDE, {"among": ["red", "blue"]}).json["arm"] in ("red", "blue")
        assert shop.post(DECIDE, {"without": ["red", "blue"]}).json["arm"] == "green"
    page = shop.post(DECIDE, {"n": 3, "distinct": True}).json["decisions"]
    assert {each["arm"] for each in page} == {"red", "green", "blue"}


def test_a_paused_arm_is_not_chosen(shop):
    path = "/v1/bandits/button/arms/red"
    paused = shop.patch(path, {"paused": True}).json["arms"][0]
    assert (paused["label"], paused["state"]) == ("red", "paused")
    assert shop.patch(path, {"paused": True}).status == 200  # as it was
    made = shop.post(DECIDE, {"n": 20}).json["decisions"]
    assert "red" not in {each["arm"] for each in made}
    assert shop.patch(path, {"paused": False, "payload": 1}).json["arms"][0]["state"] == "active"
    assert shop.post(DECIDE, {"among": ["red"]}).json["payload"] == 1
    shop.delete(path)
    assert shop.patch(path, {"paused": True}).kind == "conflict"


def test_an_orderly_end_leaves_little_to_repeat_at_the_next_start(service, tmp_path):
    new = {"policy": "LBSDAGM", "arms": ["a", "b", "c"], "seed": 1}
    with_service = service()
    for name, count_ in (("busy", 200), ("quiet", 3)):
        with_service.post("/v1/bandits", {"name": name, **new})
        with_service.post(f"/v1/bandits/{name}/decisions", {"n": count_})
    with_service.close()
    saved = dict(fetch(tmp_path / "shop.db", "SELECT name, last_event FROM bandits"))
    assert saved == {"busy": 200, "quiet": 0}
    again = service()
    assert [again.state.host.bandits[name].bandit.asked for name in saved] == [200, 3]
    assert count(tmp_path / "shop.db") == 203  # events are kept


def test_observations_with_a_key_count_once(service, shop):
    path = "/v1/bandits/button/observations"
    seen = {"observations": [{"arm": "red", "reward": 1.0}, {"arm": "blue", "reward": 0.0}]}
    for _ in range(3):
        assert shop.post(path, seen, headers={"Idempotency-Key": "import 1"}).status == 204
    other = {"observations": [{"arm": "red", "reward": 0.0}]}
    assert shop.post(path, other, headers={"Idempotency-Key": "import 1"}).kind == "key-reused"
    assert shop.post(path, other).status == 204
    shop.close()
    again = service()
    again.post(path, seen, headers={"Idempotency-Key": "import 1"})
    pulls = {arm["label"]: arm["pulls"] for arm in again.get("/v1/bandits/button").json["arms"]}
    assert pulls == {"red": 2, "green": 0, "blue": 1}
    assert again.post(path, seen, headers={"Idempotency-Key": "x" * 300}).kind == "invalid"
