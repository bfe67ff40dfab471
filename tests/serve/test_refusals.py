"""What is not valid gets a problem that says why, and changes nothing."""

import re

import pytest

from serve.client import Service

NEW = {"name": "new", "arms": ["x", "y"], "policy": "LBSDAGM"}
RAIL = {"control": "red", "worse": "higher"}
BANDITS = {
    "button": {"floor": {"red": 0.2, "green": 0.2}, "reward_window": 60, "default_reward": 0},
    "plain": {"segments": None},
    "held": {"holdout": {"share": 0.5, "control": "red"}, "segments": 1},
    "guarded": {"guardrail": RAIL},
    "coins": {"policy": "Thompson", "reward_window": 60},
}
TOKENS = []


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    shop = Service(tmp_path_factory.mktemp("refusals") / "shop.db")
    for name, more in BANDITS.items():
        shop.create(name, **more)
    shop.decide(key="one")
    TOKENS.extend(shop.decide(name).json["token"] for name in ("button", "guarded"))
    shop.delete("/v1/bandits/plain/arms/green")
    shop.patch("/v1/bandits/coins", {"paused": True})
    yield shop
    shop.close()


def seen(shop):
    names = shop.state.host.store.names()
    return names, [shop.get(f"/v1/bandits/{name}").json for name in names]


def check(shop, method, path, body, kind, words, **more):
    path = path.format(*TOKENS)
    before = seen(shop)
    answer = shop.call(method, path, body, **more)
    assert (answer.kind, seen(shop)) == (kind, before), answer.body
    assert re.search(re.escape(words), answer.json["detail"]), answer.json["detail"]
    return answer


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policy": "LBSDAGN"}, "did you mean 'LBSDAGM'"),
        ({"policy": "BestArm"}, "knows the arms beforehand"),
        ({"policy": {"policy": "SWLBSDA"}}, "SWLBSDA needs window"),
        ({"policy": {"policy": "SWLBSDA", "windw": 3}}, "no parameter 'windw'"),
        ({"policy": {"policy": "SWLBSDA", "window": -3}}, "window=-3"),
        ({"policy": {"policy": "SWLBSDA", "window": {}}}, "is not a value for a parameter"),
        ({"policy": {"name": "x"}}, "give a name"),
        (
            {"policy": {"policy": "Restarting", "detector": "MeanShift"}},
            'Restarting needs of, the policy that it wraps: {"policy": "Restarting", "of": "…"',
        ),
        (
            {"policy": {"policy": "Restarting", "of": "UCB1"}},
            'Restarting needs detector: {"policy": "Restarting", "of": "…", "detector": "…"}',
        ),
        (
            {"policy": {"policy": "Master", "inner": "UCB1"}},
            "no parameter 'inner'; choose from of, level, rise, fall (the policy that it wraps is",
        ),
        ({"policy": {"policy": "Master", "of": 3}}, "of: give a name"),
        ({"policy": {"policy": "Master", "of": "UCB11"}}, "did you mean 'UCB1'"),
        ({"policy": {"policy": "UCB1", "of": "UCB1"}}, "UCB1 has no parameter 'of'"),
        (
            {"policy": {"policy": "Restarting", "of": "UCB1", "detector": "MeanShft"}},
            "did you mean 'MeanShift'",
        ),
        ({"arms": ["x"]}, "length"),
        ({"arms": ["x", "x"]}, "repeats a label"),
        ({"arms": ["1", 1]}, "repeats a label"),
        ({"arms": ["x", ""]}, "length"),
        ({"arms": ["x", "y" * 201]}, "length"),
        ({"arms": ["x", True]}, "arms"),
        ({"name": "a\nb"}, "must not contain"),
        ({"name": ""}, "length"),
        ({"name": "button@fr"}, "must not contain '@'"),
        ({"arm": 3}, "there is no field 'arm'; did you mean 'arms'?"),
        ({"floor": 0.9}, "floor"),
        ({"floor": 0.1, "arms": ["x", {"label": "y", "floor": 0.1}]}, "not both"),
        ({"default_reward": 0.0}, "needs a reward_window"),
        ({"default_reward": 1e300, "reward_window": 1}, "default_reward="),
        ({"default_reward": 5, "reward_window": 1, "policy": "Thompson"}, "default_reward="),
        ({"holdout": {"share": 0.1, "control": "purple"}}, "holdout: 'purple' is not one of"),
        ({"guardrail": {"control": "purple", "worse": "higher"}}, "'purple' is not one of the"),
        (
            {"guardrail": {"control": "x", "worse": "up"}},
            "guardrail.worse: Invalid enum value 'up'; choose 'higher' or 'lower'",
        ),
        ({"guardrail": {"control": "x"}}, "worse"),
        ({"guardrail": {**RAIL, "confidence": 1.0}}, "confidence"),
    ],
)
def test_no_bandit_is_made(shop, change, words):
    check(shop, "POST", "/v1/bandits", {**NEW, **change}, "invalid", words)


@pytest.mark.parametrize("name", ["BestArms", "OracleRestrt"])
def test_a_policy_that_would_be_refused_is_not_suggested(shop, name):
    detail = shop.post("/v1/bandits", {**NEW, "policy": name}).json["detail"]
    told, _, hint = detail.partition("; ")
    assert told == f"unknown policy '{name}'"
    assert "BESA" in hint
    assert not {"BestArm", "OracleRestart"} & {*re.findall(r"\w+", hint)}


BUTTON, PLAIN, HELD = "/v1/bandits/button", "/v1/bandits/plain", "/v1/bandits/held"
KEY = {"Idempotency-Key": "one"}


@pytest.mark.parametrize(
    ("path", "change", "kind", "words"),
    [
        (BUTTON, {"floor": 0.4}, "invalid", "floor"),
        (BUTTON, {"floor": "much"}, "invalid", "floor"),
        (BUTTON, {"floor": {"red": "x"}}, "invalid", "floor"),
        (BUTTON, {"floor": {"pink": 0.1}}, "not-found", "has no arm 'pink'"),
        (BUTTON, {"reward_window": None}, "invalid", "needs a reward_window"),
        (BUTTON, {"alert_after": -1}, "invalid", "alert_after"),
        (BUTTON, {"guardrail": {"control": "purple", "worse": "lower"}}, "invalid", "'purple'"),
        ("/v1/bandits/coins", {"default_reward": -1.0}, "invalid", "default_reward="),
        (f"{BUTTON}/arms/red", {"floor": 0.9}, "invalid", "floor"),
        (f"{BUTTON}/arms/pink", {"payload": 1}, "not-found", "has no arm 'pink'"),
        (f"{PLAIN}/arms/green", {"paused": True}, "conflict", "has been retired"),
        (f"{HELD}/arms/red", {"paused": True}, "conflict", "control arm of the holdout"),
        ("/v1/bandits/guarded/arms/red", {"paused": True}, "conflict", "control arm of the guard"),
        (f"{HELD}@@holdout", {"paused": True}, "conflict", "belongs to 'held'"),
    ],
)
def test_no_bandit_is_changed(shop, path, change, kind, words):
    change = {"description": "x", **change} if "/arms/" not in path else change
    check(shop, "PATCH", path, change, kind, words)


@pytest.mark.parametrize(
    ("path", "body", "kind", "words"),
    [
        (f"{PLAIN}/arms", {"label": "red"}, "conflict", "exists, or has been retired"),
        (f"{PLAIN}/arms", {"label": "green"}, "conflict", "exists, or has been retired"),
        (f"{BUTTON}/arms", {"label": "gold", "floor": 0.7}, "invalid", "floor"),
        (f"{HELD}@@holdout/arms", {"label": "x"}, "conflict", "belongs to 'held'"),
        (f"{BUTTON}/evaluate", {"policies": ["LBSDAGN"]}, "invalid", "did you mean 'LBSDAGM'"),
        (f"{PLAIN}/evaluate", {"policies": ["UCB1"]}, "conflict", "no decisions with a reward"),
        (f"{BUTTON}/observations", {"observations": [{"arm": "pink", "reward": 1}]}, "invalid", ""),
        (f"{HELD}/observations", {"observations": [{"arm": "red", "reward": 1}]}, "conflict", ""),
        ("/v1/keys", {"scopes": []}, "invalid", "length"),
        ("/v1/bandits", {**NEW, "name": "button"}, "conflict", ""),
    ],
)
def test_nothing_else_is_taken(shop, path, body, kind, words):
    check(shop, "POST", path, body, kind, words)


@pytest.mark.parametrize(
    ("path", "asked", "kind", "words"),
    [
        (BUTTON, {"n": 0}, "invalid", ">= 1"),
        (BUTTON, {"n": 10_001}, "invalid", "<= 10000"),
        (BUTTON, {"n": "3"}, "invalid", "n: "),
        (BUTTON, {"context": {"country": "de"}}, "invalid", "de-mobile"),
        (BUTTON, {"among": []}, "invalid", "among"),
        (BUTTON, {"among": ["purple"]}, "invalid", "purple"),
        (BUTTON, {"n": 4, "distinct": True}, "invalid", "4"),
        (BUTTON, {"distinct": True}, "invalid", "distinct needs n"),
        (BUTTON, {"segment": ""}, "invalid", "segment"),
        (BUTTON, {"segment": "a\nb"}, "invalid", "segment"),
        (BUTTON, {"segment": "x" * 101}, "invalid", "segment"),
        (BUTTON, {"segment": "fr@@holdout"}, "invalid", "must not contain '@'"),
        (BUTTON, {"n": 2, "key": "one"}, "key-reused", "came with another request before"),
        (PLAIN, {"segment": "fr"}, "invalid", "has no segments"),
        (HELD, {}, "invalid", "give the unit"),
        (HELD, {"unit": "a", "n": 2, "distinct": True}, "invalid", "no distinct arms"),
        (HELD, {"unit": "a", "among": ["green", "blue"]}, "invalid", "'red' must be among"),
        (HELD, {"unit": "a", "without": ["red"]}, "invalid", "'red' must be among"),
        (f"{HELD}@@holdout", {"unit": "a"}, "conflict", "belongs to 'held'"),
        ("/v1/bandits/coins", {}, "paused", "is paused"),
        ("/v1/bandits/buton", {}, "not-found", "did you mean 'button'?"),
    ],
)
def test_no_decision_is_taken_alone_or_with_others(shop, path, asked, kind, words):
    headers = {"Idempotency-Key": asked["key"]} if "key" in asked else {}
    alone = {name: value for name, value in asked.items() if name != "key"}
    check(shop, "POST", f"{path}/decisions", alone, kind, words, headers=headers)
    others = {"requests": [{"unit": "b"}, asked]}
    check(shop, "POST", f"{path}/decisions:batch", others, kind, "")


@pytest.mark.parametrize(
    "requests", [[], [{"n": 9_999}, {"n": 2}], [{"key": "a"}, {"key": "a", "n": 2}]]
)
def test_no_decision_of_a_batch_is_taken(shop, requests):
    kind = "key-reused" if {"key": "a"} in requests else "invalid"
    check(shop, "POST", f"{BUTTON}/decisions:batch", {"requests": requests}, kind, "")


@pytest.mark.parametrize(
    ("token", "told", "kind", "words"),
    [
        ("{0}", {"reward": 1e300}, "invalid", "reward=1e+300"),
        *(("{0}", {"reward": reward}, "invalid", "reward: ") for reward in ("1", None, True)),
        ("{0}", {"reward": 1, "guardrail": 1}, "invalid", "has no guardrail"),
        ("{1}", {"reward": 1, "guardrail": 1e300}, "invalid", "guardrail"),
        ("{1}", {"reward": 1, "guardrail": True}, "invalid", "guardrail"),
        *((token, {"reward": 1}, "not-found", "") for token in ("x", "!" * 32, "A" * 32, "A" * 36)),
    ],
)
def test_no_reward_is_taken_alone_or_with_others(shop, token, told, kind, words):
    check(shop, "PUT", f"/v1/decisions/{token}/reward", told, kind, words)
    token = token.format(*TOKENS)
    other = {"token": TOKENS[1] if token == TOKENS[0] else TOKENS[0], "reward": 0.5}
    batch = {"rewards": [other, {"token": token, **told}], "atomic": True}
    check(shop, "POST", "/v1/rewards:batch", batch, kind, "rewards[1]")


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("/v1/bandits?limit=0", "invalid", "limit='0': Expected `int` >= 1"),
        ("/v1/bandits?limit=1001", "invalid", "limit='1001': Expected `int` <= 1000"),
        ("/v1/bandits?limit=2&limit=3", "invalid", "the query has 'limit' twice; give it once"),
        ("/v1/bandits?limt=2", "invalid", "no query parameter 'limt'; did you mean 'limit'?"),
        (f"{BUTTON}?after=3", "invalid", "no query parameter 'after'; leave it out"),
        (f"{BUTTON}/summary?confidence=2", "invalid", "confidence"),
        (f"{BUTTON}/summary?confidence=x", "invalid", "confidence='x': Expected `float`"),
        (f"{BUTTON}/summary?low=0", "invalid", "give both low and high"),
        (f"{BUTTON}/summary?low=2&high=1", "invalid", ""),
        (f"{BUTTON}/summary?low=-1e200&high=1e200", "invalid", ">= -1e+100"),
        (f"{BUTTON}/summary?low=nan&high=1", "invalid", "low='nan'"),
        (f"{HELD}/uplift?confidence=2", "invalid", "confidence"),
        (f"{BUTTON}/uplift", "conflict", "has no holdout"),
        (f"{BUTTON}/explanation?decision=x", "not-found", ""),
        (f"{BUTTON}/export?what=all", "invalid", "what='all': Invalid enum value 'all'; choose"),
        (f"{BUTTON}/export?format=xls", "invalid", "choose 'csv', 'jsonl' or"),
        (f"{BUTTON}/events?after=x", "invalid", "after='x': Expected `int`"),
        (f"{BUTTON}/events?after=-1", "invalid", ">= 0"),
        (f"{BUTTON}/events?after={'1' * 30}", "invalid", "<= 9007199254740992"),
        ("/v1/bandits/buton", "not-found", "did you mean 'button'?"),
        ("/v1/bandits/%ff", "bad-request", "not UTF-8"),
        ("/v1/bandits/", "not-found", "nothing at this address"),
        ("/v1/nothing", "not-found", "nothing at this address"),
        (f"{BUTTON}/decisions", "method-not-allowed", "use one of: POST"),
    ],
)
def test_no_answer_but_a_problem(shop, path, kind, words):
    check(shop, "GET", path, None, kind, words)


@pytest.mark.parametrize(
    ("raw", "headers", "status", "kind"),
    [
        (b"{", {}, 400, "bad-request"),
        (b"\xff", {}, 400, "bad-request"),
        (b"nul", {}, 400, "bad-request"),
        (b"{}{}", {}, 400, "bad-request"),
        (b"[]", {}, 422, "invalid"),
        (b"{}", {"content-type": "text/plain"}, 415, "wrong-type"),
        (b"{}", {"content-type": "application/jsonlines"}, 415, "wrong-type"),
        (b'{"n": 2.5}', {}, 422, "invalid"),
        (b" " * (1 << 20) + b"{}", {}, 413, "too-large"),
        (b"{}", {"Idempotency-Key": "x" * 300}, 422, "invalid"),
        (b'{"n": 2}', KEY, 422, "key-reused"),
    ],
)
def test_no_body_that_cannot_be_read(shop, raw, headers, status, kind):
    before = seen(shop)
    answer = shop.post(f"{BUTTON}/decisions", raw=raw, headers=headers)
    assert (answer.status, answer.kind, seen(shop)) == (status, kind, before)
