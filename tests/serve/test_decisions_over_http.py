"""Decisions and rewards over HTTP are those of the library, and are on the disk when answered."""

import time
from unittest import mock

import pytest

import lastblock as lb
from lastblock.live.bandit import desk_of
from store.databases import count, fetch

BUTTON = "/v1/bandits/button"
DECIDE = f"{BUTTON}/decisions"


def test_decisions_are_those_of_the_library(shop):
    alone = lb.Bandit(lb.LBSDAGM(), ["red", "green", "blue"], seed=1)
    for step in range(60):
        mine, reward = alone.ask(), float((step * 7 % 5) == 0)
        alone.tell(mine, reward)
        (theirs,) = shop.learn([reward])
        assert theirs["arm"] == mine.arm
    pulls = {arm["label"]: arm["pulls"] for arm in shop.get(BUTTON).json["arms"]}
    assert pulls == dict(alone.pulls)


def test_requests_of_one_moment_share_a_commit(shop, tmp_path):
    groups = shop.state.host.store._groups
    with mock.patch.object(groups, "_write", wraps=groups._write) as write:
        answers = shop.send(*[{"method": "POST", "path": DECIDE}] * 20)
    assert len({each.json["token"] for each in answers}) == 20
    assert write.call_count <= 10  # on a busy machine they are not of one moment
    assert count(tmp_path / "shop.db") == 20


def test_a_store_that_cannot_be_written_is_a_problem_that_passes(shop):
    full = lb.StoreError("the disk is full")
    with mock.patch.object(shop.state.host.store._groups, "_write", side_effect=full):
        first = shop.decide()
        assert (first.kind, first.headers["retry-after"]) == ("unavailable", "1")
        assert "the disk is full" in first.json["detail"]
        assert shop.decide().status == shop.get("/readyz").status == 503
    shop.state.host.store.flush()
    assert shop.decide().status == 201
    assert shop.get("/readyz").status == 200
    assert shop.get(BUTTON).json["decisions"] == 2  # the second was never made


@pytest.mark.parametrize("durability", ["interval", "never"])
def test_other_durabilities_answer_at_once(service, durability):
    shop = service(durability=durability)
    shop.create()
    shop.state.host.store._groups._interval = 60.0
    assert [shop.decide().status for _ in range(3)] == [201] * 3


def test_the_same_key_gets_the_same_decision_also_after_a_restart(service):
    shop = service()
    shop.create()
    first = shop.decide(key="page view 17")
    assert shop.decide(key="page view 17").json == first.json
    three = shop.decide(key="x", n=3).json
    shop.close()
    key, shop = shop.key, service()
    shop.key = key  # another API key has keys of its own
    assert shop.decide(key="page view 17").json == first.json
    assert shop.decide(key="x", n=3).json == three
    batch = {"requests": [{"key": "page view 17"}]}
    assert shop.post(f"{DECIDE}:batch", batch).json == {"answers": [[first.json]]}
    assert shop.get(BUTTON).json["decisions"] == 4


FIRST = {"unit": "visitor 4711", "segment": "de"}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {**FIRST, "unit": "visitor 4712"},
        {**FIRST, "segment": "fr"},
        {"unit": "visitor 4711"},
        {**FIRST, "n": 1},
        {**FIRST, "without": ["green"]},
        {**FIRST, "among": ["red", "green", "blue"]},
        {**FIRST, "why": True},
    ],
)
@pytest.mark.parametrize("more", [{}, {"holdout": {"share": 0.5, "control": "red"}}])
def test_a_key_is_for_one_request(service, other, more):
    shop = service()
    shop.create(**more)
    first = shop.decide(key="k", **FIRST).json
    batch = {"requests": [{**other, "key": "k"}]}
    for wrong in (shop.decide(key="k", **other), shop.post(f"{DECIDE}:batch", batch)):
        needs_unit = more and "unit" not in other
        assert (wrong.status, wrong.kind) == (422, "invalid" if needs_unit else "key-reused")
    assert shop.decide(key="k", **FIRST).json == first
    for name in shop.state.host.store.names():  # the log has a digest only
        assert b"4711" not in shop.get(f"/v1/bandits/{name}/export?what=events").body


def test_keys_are_separate_for_each_api_key(shop):
    shop.create("sums", aggregation="sum")
    callers = [shop.state.keys.create(["ask", "tell"])[0] for _ in range(2)]
    headers = {"Idempotency-Key": "k"}

    def send(method, path, body):
        found = [shop.call(method, path, body, key=key, headers=headers) for key in callers * 2]
        assert all(each.status < 300 for each in found), found
        assert [each.body for each in found[2:]] == [each.body for each in found[:2]]
        return found

    one, other, *_ = send("POST", DECIDE, {})
    assert one.json["token"] != other.json["token"]
    one, other, *_ = send("POST", f"{DECIDE}:batch", {"requests": [{"key": "b"}]})
    assert one.json != other.json
    send("POST", f"{BUTTON}/observations", {"observations": [{"arm": "red", "reward": 1.0}]})
    assert shop.get(BUTTON).json["arms"][0]["pulls"] == 2
    first, second = (each["token"] for each in shop.decide("sums", n=2).json["decisions"])
    send("PUT", f"/v1/decisions/{first}/reward", {"reward": 1.0})
    send("POST", "/v1/rewards:batch", {"rewards": [{"token": second, "reward": 1.0}]})
    for token in (first, second):
        assert shop.post(f"/v1/decisions/{token}/close").json == {"reward": 2.0}


def test_the_token_of_a_lost_decision_is_unknown(shop):
    token = shop.decide().json["token"]
    desk = desk_of(shop.state.host.bandits["button"].bandit)
    desk.skip_to(desk.next_id + 5)  # as after a crash
    for id, status in ((0, 204), (3, 404), (99, 404)):
        found = shop.reward(desk.tokens.make(id), 1)
        assert found.status == status, (token, found.body)
        assert status == 204 or found.kind == "not-found"


def test_the_same_reward_again_is_fine_and_another_is_not(shop):
    token = shop.decide().json["token"]
    for raw in (b'{"reward": 1e999}', b'{"reward": NaN}'):
        assert shop.put(f"/v1/decisions/{token}/reward", raw=raw).kind in ("bad-request", "invalid")
    assert [shop.reward(token, 1).status for _ in range(3)] == [204, 204, 204]
    other = shop.reward(token, 0.5)
    assert (other.status, other.kind) == (409, "conflict")
    assert "1.0" in other.json["detail"]
    assert "0.5" in other.json["detail"]
    assert sum(arm["pulls"] for arm in shop.get(BUTTON).json["arms"]) == 1


def tell(shop, pairs, atomic=False, key=None):
    """Send a batch of rewards: tokens with a reward, and perhaps a key of its own."""
    told = [dict(zip(("token", "reward", "key"), pair, strict=False)) for pair in pairs]
    headers = {} if key is None else {"Idempotency-Key": key}
    return shop.post("/v1/rewards:batch", {"rewards": told, "atomic": atomic}, headers=headers)


def kinds(answer):
    """What became of each reward: None if it was taken, or the kind of the problem."""
    assert answer.status == 200, answer.body
    found = answer.json
    taken = [each["taken"] for each in found["results"]]
    assert (sum(taken), len(taken) - sum(taken)) == (found["taken"], found["refused"])
    return [
        each.get("problem", {}).get("type", "").rpartition(":")[2] or None
        for each in found["results"]
    ]


def test_each_reward_of_a_batch_has_a_result(service):
    """In their order, the same when they are sent again, and on the disk."""
    shop = service()
    for name, more in (("button", {}), ("coins", {"policy": "Thompson"}), ("gone", {})):
        shop.create(name, **more)
    good, late, told, coin = (
        shop.decide(name).json["token"] for name in ("button", "button", "button", "coins")
    )
    dropped = shop.decide("gone").json["token"]
    shop.delete("/v1/bandits/gone")
    shop.post(f"/v1/decisions/{late}/close")
    shop.reward(told, 1)
    pairs = {
        (good, 1): None, ("forged", 1): "not-found", (late, 1): "gone", (told, 1): None,
        (told, 0): "conflict", (dropped, 1): "gone", (coin, 7): "invalid", (good, 0): "conflict",
    }  # fmt: skip
    first = tell(shop, pairs)
    assert kinds(first) == list(pairs.values())
    assert [each["token"] for each in first.json["results"]] == [token for token, _ in pairs]
    assert b'lastblock_refused_rewards_total{problem="gone"} 2' in shop.get("/metrics").body
    shop.close()
    shop = service()
    assert kinds(tell(shop, pairs)) == kinds(first)
    assert sum(arm["pulls"] for arm in shop.get(BUTTON).json["arms"]) == 2
    assert kinds(tell(shop, [(coin, 1), (coin, 0)], atomic=False)) == [None, "conflict"]


def test_a_batch_may_be_atomic(shop):
    tokens = [each["token"] for each in shop.decide(n=3).json["decisions"]]
    refused = tell(shop, [*((token, 1) for token in tokens), ("forged", 1)], atomic=True)
    assert (refused.status, refused.kind) == (404, "not-found")
    assert (refused.json["place"], refused.json["token"]) == (3, "forged")
    assert refused.json["detail"].startswith("rewards[3], token 'forged': ")
    assert shop.get(BUTTON).json["waiting"] == 3
    assert kinds(tell(shop, [(token, 1) for token in tokens], atomic=True)) == [None] * 3
    malformed = tell(shop, [(tokens[0], 1), (tokens[1], None)])
    assert malformed.json["detail"] == "rewards[1].reward: Expected `float`, got `null`"


def test_a_batch_of_rewards_with_a_key_counts_once_where_rewards_are_collected(shop):
    shop.create("sums", aggregation="sum", policy="KLUCB")  # which takes rewards up to 1
    made = shop.decide("sums", n=3).json["decisions"]
    single = shop.decide().json  # of a bandit whose decisions have one reward each
    *tokens, own = [each["token"] for each in made]
    some = [(token, 0.25) for token in (*tokens, single["token"])]
    for _ in range(2):
        assert kinds(tell(shop, some, key="a")) == [None] * 3
    other = [(token, 0.5) for token in tokens]
    assert kinds(tell(shop, other, key="a")) == ["key-reused"] * 2
    assert kinds(tell(shop, other, key="b")) == [None] * 2
    orders = [(own, 0.5, "order 1"), (own, 0.25, "order 2"), (own, 0.5, "order 3"), (own, 0.25)]
    for _ in range(2):  # what comes to more than 1 is refused within a batch, too
        assert kinds(tell(shop, orders, key="c")) == [None, None, "invalid", None]
    twice = tell(shop, [(own, 0.0)] * 2, key="d")
    assert kinds(twice) == [None, "conflict"]
    for token in (*tokens, own):
        value = 1.0 if token == own else 0.75
        for _ in range(2):
            assert shop.post(f"/v1/decisions/{token}/close").json == {"reward": value}
        assert shop.reward(token, 1.0).status == 410
    assert shop.patch("/v1/bandits/sums", {"aggregation": None}).json["aggregation"] is None


def test_the_key_of_a_batch_is_for_all_of_it(shop):
    key, path = {"Idempotency-Key": "page 4"}, f"{DECIDE}:batch"
    wanted = [{}, {"segment": "de", "n": 2}, {"key": "own"}]
    first = shop.post(path, {"requests": wanted}, headers=key)
    assert shop.post(path, {"requests": wanted}, headers=key).json == first.json
    for other in (wanted[:2], [*wanted, {}], [{"n": 1}, *wanted[1:]]):
        refused = shop.post(path, {"requests": other}, headers=key)
        assert (refused.status, refused.kind) == (422, "key-reused")
    assert shop.decide(key="own").json == first.json["answers"][2][0]
    assert shop.get(BUTTON).json["decisions"] == 2


def test_batches_of_decisions_know_keys(shop):
    shop.decide(key="old", n=2)
    wanted = [{"key": "a"}, {"n": 3}, {"key": "old", "n": 2}, {"key": "a"}]
    made = shop.post(f"{DECIDE}:batch", {"requests": wanted}).json["answers"]
    assert [len(each) for each in made] == [1, 3, 2, 1]
    assert made[0] == made[3]
    assert shop.get(BUTTON).json["decisions"] == 6


def test_bandits_do_not_wait_for_one_whose_decisions_cannot_expire(service, caplog):
    shop = service()
    shop.create("clicks", policy="Thompson", reward_window=1e-6)
    shop.create("late", reward_window=1e-6)
    shop.state.host.bandits["clicks"].notes["default_reward"] = -1.0  # which nobody could set
    for name in ("clicks", "late"):
        shop.decide(name)
    time.sleep(0.01)
    assert shop.expire() == 1
    assert "clicks" in caplog.text


def test_late_decisions_expire_with_a_default_reward(service):
    shop = service()
    made = shop.create(reward_window=0.2, default_reward=0.0).json
    assert (made["reward_window"], made["default_reward"]) == (0.2, 0.0)
    tokens = [each["token"] for each in shop.decide(n=3).json["decisions"]]
    assert shop.expire() == 0
    time.sleep(0.21)
    assert shop.post(f"/v1/decisions/{tokens[0]}/activate").status == 204
    assert shop.expire() == 2
    late = shop.reward(tokens[1], 1)
    assert (late.status, late.kind) == (410, "gone")
    assert shop.reward(tokens[0], 1).status == 204
    state = shop.get(BUTTON).json
    assert (state["waiting"], sum(arm["pulls"] for arm in state["arms"])) == (0, 2)
    changes = {"reward_window": None, "default_reward": None}
    assert shop.patch(BUTTON, changes).json["reward_window"] is None


def test_rewards_wait_for_the_end_of_the_window_where_there_is_a_default(service):
    shop = service()
    shop.create(reward_window=0.2, default_reward=0.0)
    shop.create("sums", reward_window=0.2, default_reward=0.0, aggregation="sum")
    made = shop.decide(n=4).json["decisions"] + [shop.decide(segment="a").json]
    click, again, closed, silent, other = [each["token"] for each in made]
    summed = shop.decide("sums").json["token"]
    batch = [(token, 1) for token in (again, other, summed)]

    def learnt():
        names = ("button", "button@a", "sums")
        states = [shop.get(f"/v1/bandits/{name}").json for name in names]
        return [(sum(arm["pulls"] for arm in each["arms"]), each["waiting"]) for each in states]

    for _ in range(2):  # before and after a restart
        for _ in range(2):
            assert shop.reward(click, 1).status == 204
            assert shop.reward(click, 0).status == 409
            assert kinds(tell(shop, batch, key="a")) == [None] * 3
            assert shop.post(f"/v1/decisions/{closed}/close", {"reward": 0.5}).json["reward"] == 0.5
            assert shop.post(f"/v1/decisions/{summed}/close").json["reward"] == 1.0
            assert shop.reward(summed, 1).status == 410
        assert learnt() == [(0, 1), (0, 0), (0, 0)]
        arms = shop.get(f"{BUTTON}/summary").json["arms"]
        assert sum(arm["deferred"] for arm in arms) == 3
        shop.close()
        key, shop = shop.key, service()
        shop.key = key
    time.sleep(0.2)
    assert shop.expire() == 1
    assert learnt() == [(4, 0), (1, 0), (1, 0)]
    assert [shop.reward(token, 1).status for token in (click, closed, silent)] == [204, 410, 410]
    late = shop.decide().json["token"]
    shop.reward(late, 1)
    shop.patch(BUTTON, {"reward_window": None, "default_reward": None})
    assert shop.expire() == 0
    assert learnt()[0] == (5, 0)  # there is no window any more for which it could wait


def test_decisions_may_be_among_some_arms_only(shop):
    assert shop.decide(among=["red", "blue"]).json["arm"] in ("red", "blue")
    assert shop.decide(without=["red", "blue"]).json["arm"] == "green"
    page = shop.decide(n=3, distinct=True).json["decisions"]
    assert {each["arm"] for each in page} == {"red", "green", "blue"}
    path = f"{BUTTON}/arms/red"
    for _ in range(2):  # the second time it is as it was
        assert shop.patch(path, {"paused": True}).json["arms"][0]["state"] == "paused"
    assert "red" not in {each["arm"] for each in shop.decide(n=20).json["decisions"]}
    assert shop.patch(path, {"paused": False, "payload": 1}).json["arms"][0]["state"] == "active"
    assert shop.decide(among=["red"]).json["payload"] == 1


def test_an_orderly_end_leaves_little_to_repeat_at_the_next_start(service, tmp_path):
    shop = service()
    for name, count_ in (("busy", 200), ("quiet", 3)):
        shop.create(name)
        shop.decide(name, n=count_)
    shop.close()
    saved = dict(fetch(tmp_path / "shop.db", "SELECT name, last_event FROM bandits"))
    assert saved == {"busy": 200, "quiet": 0}
    again = service()
    assert [again.get(f"/v1/bandits/{name}").json["decisions"] for name in saved] == [200, 3]
    assert count(tmp_path / "shop.db") == 203  # events are kept


def test_observations_with_a_key_count_once(shop):
    path, key = f"{BUTTON}/observations", {"Idempotency-Key": "import 1"}
    seen = {"observations": [{"arm": "red", "reward": 1.0}, {"arm": "blue", "reward": 0.0}]}
    for _ in range(3):
        assert shop.post(path, seen, headers=key).status == 204
    other = {"observations": [{"arm": "red", "reward": 0.0}]}
    assert shop.post(path, other, headers=key).kind == "key-reused"
    assert shop.post(path, other).status == 204
    pulls = {arm["label"]: arm["pulls"] for arm in shop.get(BUTTON).json["arms"]}
    assert pulls == {"red": 2, "green": 0, "blue": 1}
