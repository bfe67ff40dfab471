"""Summary, explanation, changes, events and export over HTTP."""

import asyncio
import csv
import io
import json
import sys
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest

from lastblock.live.mean_rewards import mean_rewards, statistics_of
from lastblock.serve.dashboard.pages import between, rate
from lastblock.theory.confidence_sequences import Coins
from serve.client import ARMS
from serve.visitor import Visitor

BUTTON = "/v1/bandits/button"


def live(shop, steps):
    return shop.learn([float(step % 3 == 0) for step in range(steps)], why=True)


def test_a_summary_has_the_arms_and_words(shop):
    live(shop, 12)
    found = shop.get(f"{BUTTON}/summary?confidence=0.9&low=0&high=1").json
    assert found["confidence"] == 0.9
    assert sum(arm["pulls"] for arm in found["arms"]) == 12
    assert "red" in found["text"]
    assert found["verdict"]["confidence"] == 0.9
    assert found["verdict"]["best"] == found["best"]
    assert found["verdict"]["text"].startswith(("Go on: ", "Stop: "))
    assert shop.get(f"{BUTTON}/changes").json == {"changes": []}


def test_the_last_round_and_past_decisions_are_explained(shop):
    made = live(shop, 20)
    assert shop.get(f"{BUTTON}/explanation").json["round"] > 1
    for decision in made[::6]:
        path = f"{BUTTON}/explanation?decision={decision['token']}"
        assert shop.get(path).json["text"] == decision["why"]
    assert "why" not in shop.decide().json
    several = shop.decide(why=True, n=3).json["decisions"]
    assert ["why" in each for each in several] == [False, False, True]
    assert several[-1]["arm"] in several[-1]["why"]


def test_a_request_that_is_sent_again_gets_the_reason_of_its_decision(shop):
    first = shop.decide(key="k", why=True).json
    assert shop.decide(key="k", why=True).json == first
    live(shop, 20)
    assert shop.decide(key="k", why=True).json == first
    asked = {"requests": [{"key": "k", "why": True}]}
    assert shop.post(f"{BUTTON}/decisions:batch", asked).json == {"answers": [[first]]}


def test_reasons_know_segments_and_holdouts(shop):
    shop.create("held", holdout={"share": 0.5, "control": "red"})
    made = [shop.decide("held", unit=str(n), segment="fr", why=True).json for n in range(10)]
    for found in made:
        said = shop.get(f"/v1/bandits/held/explanation?decision={found['token']}")
        assert said.json["text"] == found["why"]
        assert ("is one of the holdout" in found["why"]) == found["held_out"]
        assert ("Round" in found["why"]) != found["held_out"]


def test_the_log_is_exported(shop):
    """As CSV or JSON lines without pyarrow, which the service need not have."""
    live(shop, 5)
    parquet = shop.get(f"{BUTTON}/export?format=parquet")
    rows = pq.read_table(io.BytesIO(parquet.body)).to_pylist()
    assert parquet.headers["content-type"] == "application/vnd.apache.parquet"
    with mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.parquet": None}):
        table = shop.get(f"{BUTTON}/export")
        lines = shop.get(f"{BUTTON}/export?format=jsonl&what=events")
        refused = shop.get(f"{BUTTON}/export?format=parquet")
    assert (refused.status, refused.kind) == (422, "invalid")
    assert "pip install 'lastblock[lab]'" in refused.json["detail"]
    assert "button-decisions.csv" in table.headers["content-disposition"]
    read = list(csv.DictReader(table.body.decode().splitlines()))
    assert [row["arm"] for row in read] == [row["arm"] for row in rows]
    events = [json.loads(line) for line in lines.body.splitlines()]
    assert sum(event["kind"] == "tell" for event in events) == len(rows) == 5
    assert [table.headers["content-type"], lines.headers["content-type"]] == [
        "text/csv",
        "application/jsonl",
    ]


def read(text):
    """The events in a stream."""
    for block in text.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            yield fields.get("id"), fields["event"], json.loads(fields["data"])


def stream(shop, wanted, asked=0, headers=None):
    """Follow the events until there are `wanted`, while decisions are asked for."""

    async def follow():
        def enough(text):
            return len(list(read(text))) >= wanted

        request = shop.request("GET", f"{BUTTON}/events", headers=headers, until=enough)
        task = asyncio.ensure_future(request)
        while not shop.state.streams and not task.done():
            await asyncio.sleep(0.01)
        for _ in range(asked):
            await shop.request("POST", f"{BUTTON}/decisions")
        answer = await asyncio.wait_for(task, 30)
        async with asyncio.timeout(30):
            while shop.state.streams:
                await asyncio.sleep(0.01)
        return list(read(answer.body))

    return shop.runner.run(follow())


def test_events_come_as_they_are_logged_and_again_after_a_pause(shop):
    live(shop, 2)
    found = stream(shop, 3, asked=3)
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
    shop.create()
    live(shop, 3)
    shop.state.host.store.snapshot("button")
    shop.decide()
    found = stream(shop, 2, headers={"last-event-id": "0"})
    assert found[0] == (None, "gap", {"after": 0, "before": 10})
    assert found[1][0] == "10"


def test_other_policies_are_evaluated_on_decisions_with_a_floor(shop):
    wanted = {"policies": ["LBSDAGM"], "replications": 2, "bootstrap": 5}
    path = f"{BUTTON}/evaluate"
    live(shop, 3)
    assert "set a traffic floor for that" in shop.post(path, wanted).json["detail"]
    shop.patch(BUTTON, {"floor": 0.3})
    live(shop, 40)
    found = shop.post(path, wanted)
    assert found.status == 200, found.body
    assert (found.json["decisions"], found.json["logged"]["rewards"]) == (40, 40)
    assert found.json["used"] > 20
    assert found.json["policies"][0]["policy"] == "LBSDAGM()"
    assert 0.0 <= found.json["policies"][0]["estimate"] <= 1.0
    shop.create("mixed", arms=["red", 3, "blue"], floor=0.2)
    shop.learn([float(step % 2) for step in range(20)], "mixed")
    shop.learn([1.0], "mixed", without=["red"])  # not among all arms
    mixed = shop.post("/v1/bandits/mixed/evaluate", wanted)
    assert mixed.json["logged"]["rewards"] == 20, mixed.body


def test_all_reports_have_the_same_mean_reward(service):
    """Clicks of a few per cent, unequal shares; some wait, some are closed by default."""
    shop, rng = service(), np.random.default_rng(5)
    shop.create(policy="Thompson", floor=0.1)
    rates, got = {"red": 0.02, "green": 0.05, "blue": 0.03}, {}
    for _ in range(40):
        for number, made in enumerate(shop.decide(n=10).json["decisions"]):
            reward = float(rng.random() < rates[made["arm"]])
            if number == 8:
                shop.post(f"/v1/decisions/{made['token']}/close", {"reward": reward})
            elif number < 8:
                shop.reward(made["token"], reward)
            got.setdefault(made["arm"], []).extend([reward] * (number < 9))
    every = np.concatenate(list(got.values()))
    told = [statistics_of(np.array(got[arm])) for arm in ARMS]
    wanted = mean_rewards(Coins(), [*told, statistics_of(every)])
    summary = shop.summary()
    body = {"policies": ["UCB1"], "bootstrap": 0, "replications": 1}
    evaluated = shop.post(f"{BUTTON}/evaluate", body).json
    rows = [{"rewards": row["pulls"], **row} for row in summary["arms"]]
    for found, want in zip(
        [*rows, summary["mean_reward"], evaluated["logged"]], [*wanted, wanted[-1]], strict=True
    ):
        assert [found[name] for name in want._fields] == pytest.approx(list(want))
    page = Visitor(shop, shop.key).read("/bandits/button")
    for each in wanted:
        words = f"{rate(each.mean, True)} {between(each, True)}"
        assert " ".join(words.split()) in page
    assert "held_low" not in summary["arms"][0]
