"""Summary, explanation, changes, events and export over HTTP."""

import asyncio
import io
import json

import pyarrow.parquet as pq

DECIDE = "/v1/bandits/button/decisions"


def live(shop, steps):
    """Decide and tell; return tokens and arms."""
    made = []
    for step in range(steps):
        decision = shop.post(DECIDE, {"why": True}).json
        reward = {"reward": float(step % 3 == 0)}
        assert shop.put(f"/v1/decisions/{decision['token']}/reward", reward).status == 204
        made.append(decision)
    return made


def test_a_summary_has_the_arms_and_words(shop):
    live(shop, 12)
    found = shop.get("/v1/bandits/button/summary?confidence=0.9&low=0&high=1").json
    assert found["confidence"] == 0.9
    assert sum(arm["pulls"] for arm in found["arms"]) == 12
    assert "red" in found["text"]
    assert found["verdict"]["confidence"] == 0.9
    assert found["verdict"]["best"] == found["best"]
    assert found["verdict"]["text"].startswith(("Go on: ", "Stop: "))
    assert shop.get("/v1/bandits/button/changes").json == {"changes": []}


def test_the_last_round_and_past_decisions_are_explained(shop):
    made = live(shop, 20)
    assert shop.get("/v1/bandits/button/explanation").json["round"] > 1
    for decision in made[::6]:
        path = f"/v1/bandits/button/explanation?decision={decision['token']}"
        assert shop.get(path).json["text"] == decision["why"]


def test_a_request_that_is_sent_again_gets_the_reason_of_its_decision(shop):
    key, asked = {"idempotency-key": "k"}, {"requests": [{"key": "k", "why": True}]}
    first = shop.post(DECIDE, {"why": True}, headers=key).json
    assert shop.post(DECIDE, {"why": True}, headers=key).json == first
    live(shop, 20)
    assert shop.post(DECIDE, {"why": True}, headers=key).json == first
    assert shop.post(f"{DECIDE}:batch", asked).json == {"answers": [[first]]}


def test_reasons_know_segments_and_holdouts(shop):
    new = {"policy": "LBSDAGM", "arms": ["red", "green"], "seed": 1}
    held = {"holdout": {"share": 0.5, "control": "red"}}
    shop.post("/v1/bandits", {**new, **held, "name": "held"})
    made = [
        shop.post("/v1/bandits/held/decisions", {"unit": str(unit), "segment": "fr", "why": True})
        for unit in range(10)
    ]
    for answer in made:
        found = answer.json
        path = f"/v1/bandits/held/explanation?decision={found['token']}"
        said = shop.get(path)
        assert said.status == 200, said.body
        assert said.json["text"] == found["why"]
        assert ("is one of the holdout" in found["why"]) == found["held_out"]
        assert ("Round" in found["why"]) != found["held_out"]


def test_the_log_is_exported(shop):
    live(shop, 5)
    answer = shop.get("/v1/bandits/button/export")
    table = pq.read_table(io.BytesIO(answer.body))
    assert table.num_rows == 5
    assert "button-decisions.parquet" in answer.headers["content-disposition"]
    events = pq.read_table(io.BytesIO(shop.get("/v1/bandits/button/export?what=events").body))
    assert events["kind"].to_pylist().count("tell") == 5


def read(parts):
    """The events in a part of a stream."""
    for block in b"".join(parts).decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            yield fields.get("id"), fields["event"], json.loads(fields["data"])


async def nothing():
    pass


def stream(shop, wanted, act=nothing, headers=None):
    """Follow the events until there are `wanted`, while something happens."""

    async def follow():
        parts, ready = [], asyncio.Event()

        told = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if told:
                return told.pop()
            await ready.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            parts.append(message.get("body", b""))
            if len(list(read(parts))) >= wanted:
                ready.set()

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/bandits/button/events",
            "query_string": b"",
            "headers": [
                (b"authorization", f"Bearer {shop.key}".encode()),
                *((k.encode(), v.encode()) for k, v in (headers or {}).items()),
            ],
        }
        task = asyncio.ensure_future(shop.app(scope, receive, send))
        while not shop.state.streams and not task.done():
            await asyncio.sleep(0.01)
        await act()
        await asyncio.wait_for(task, 30)
        async with asyncio.timeout(30):
            while shop.state.streams:
                await asyncio.sleep(0.01)
        return list(read(parts))

    return shop.runner.run(follow())


def test_events_come_as_they_are_logged_and_again_after_a_pause(shop):
    async def decide():
        for _ in range(3):
            await shop.request("POST", DECIDE)

    live(shop, 2)
    found = stream(shop, 3, decide)
    assert [id for id, _, _ in found] == ["7", "8", "9"]
    assert {kind for _, kind, _ in found} == {"ask"}
    assert found[0][2]["arm"] in ("red", "green", "blue")
    again = stream(shop, 7, headers={"last-event-id": "0"})
    assert [id for id, _, _ in again] == ["1", "2", "4", "5", "7", "8", "9"]
    assert again[4:] == found
    assert [kind for _, kind, _ in again[:4]] == ["ask", "tell", "ask", "tell"]
    assert shop.state.streams == {}


def test_events_that_are_not_kept_leave_a_gap(service):
    shop = service(keep_events=False)
    new = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
    shop.post("/v1/bandits", new)
    live(shop, 3)
    shop.state.host.store.snapshot("button")
    shop.post(DECIDE)
    found = stream(shop, 2, headers={"last-event-id": "0"})
    assert found[0] == (None, "gap", {"after": 0, "before": 10})
    assert found[1][0] == "10"


def test_other_policies_are_evaluated_on_decisions_with_a_floor(shop):
    wanted = {"policies": ["LBSDAGM"], "replications": 2, "bootstrap": 5}
    path = "/v1/bandits/button/evaluate"
    live(shop, 3)
    assert "set a floor for that" in shop.post(path, wanted).json["detail"]
    shop.patch("/v1/bandits/button", {"floor": 0.3})
    live(shop, 40)
    found = shop.post(path, wanted)
    assert found.status == 200, found.body
    assert found.json["decisions"] == 40
    assert found.json["used"] > 20
    assert found.json["policies"][0]["policy"] == "LBSDAGM()"
    assert 0.0 <= found.json["policies"][0]["earned"]["mean"] <= 1.0
    decision = shop.post(DECIDE, {"among": ["red", "blue"]}).json  # unlike all others
    shop.put(f"/v1/decisions/{decision['token']}/reward", {"reward": 0.0})
    again = shop.post(path, wanted)
    assert again.json["decisions"] == 41
    assert again.json["policies"] == found.json["policies"]
