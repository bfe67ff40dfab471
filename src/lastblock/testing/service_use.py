"""Checks: behind a service a bandit decides as it does alone, whatever is sent twice."""

import json
import tempfile
from pathlib import Path
from typing import Any

from lastblock.core.protocol import Policy
from lastblock.core.support import support_of
from lastblock.live.bandit import Bandit
from lastblock.store.store import Store
from lastblock.testing.expectations import expect
from lastblock.testing.worlds import SEED

LABELS = ["a", "b", "c"]
STEPS = 24


def _parts(policy: Policy, step: int) -> tuple[float, float]:
    """Return two rewards whose sum the policy takes."""
    low, high = support_of(policy)
    whole = min(max(low, 0.25 * (step % 5)), high)
    return whole / 2.0, whole / 2.0


def several_rewards_count_as_their_sum(policy: Policy) -> None:
    """Rewards that come in parts count as their sum, keys repeat decisions, and events it all."""
    bandit: Bandit[str] = Bandit(policy, LABELS, seed=SEED, rewards="sum")
    twin: Bandit[str] = Bandit(policy, LABELS, seed=SEED)
    events: list[Any] = []
    bandit.attach(events.extend)
    for step in range(STEPS):
        decision = bandit.ask(key=f"request {step}")
        expect(decision == bandit.ask(key=f"request {step}"), "a key gives another decision")
        expect(decision == twin.ask(), "asked with a key, it decides otherwise")
        for key, part in enumerate(_parts(policy, step)):
            for _ in range(2):  # the second time it changes nothing
                bandit.tell(decision, part, key=str(key))
        if step % 6 == 5:
            bandit.forget(decision)
            twin.forget(decision)
        else:
            told = bandit.close(decision)
            expect(told == sum(_parts(policy, step)), f"two rewards come to {told}")
            twin.tell(decision, sum(_parts(policy, step)))
    expect(bandit.pulls == twin.pulls, f"the pulls are {bandit.pulls}, not {twin.pulls}")
    again: Bandit[str] = Bandit(policy, LABELS, seed=SEED, rewards="sum")
    for event in json.loads(json.dumps(events)):
        again.apply(event)
    expect(again.to_bytes() == bandit.to_bytes(), "the same events lead to another state")
    loaded = Bandit.from_json(bandit.to_json())
    expect(loaded.to_bytes() == bandit.to_bytes(), "saved and loaded, the state is another one")


def a_store_takes_tokens_again_and_again(policy: Policy) -> None:
    """In a store, tokens, keys and times survive, and what is sent twice changes nothing."""
    twin: Bandit[str] = Bandit(policy, LABELS, seed=SEED)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "store.db"
        options: dict[str, Any] = {"durability": "never", "snapshot_every": 17}
        with Store(path, **options) as store:
            store.create("bandit", policy, LABELS, seed=SEED)
        tokens: list[tuple[str, float]] = []
        for opening in range(2):
            with Store(path, **options) as store:
                bandit = store.bandit("bandit")
                for token, reward in tokens[-3:]:
                    store.tell(token, reward)  # once more
                for step in range(STEPS):
                    key = f"request {opening} {step}"
                    decision = bandit.ask(key=key)
                    expected = twin.ask()
                    expect(decision.arm == expected.arm, "in a store it decides otherwise")
                    token, reward = decision.token, sum(_parts(policy, step))
                    expect(bandit.ask(key=key).token == token, "a key gives another decision")
                    if step % 6 == 5:
                        continue
                    for _ in range(2):
                        store.tell(token, reward)
                    twin.tell(expected, reward)
                    tokens.append((token, reward))
                for pending in bandit.pending[1:]:
                    bandit.activate(pending)
                late = [*bandit.expire(older_than=STEPS // 2, reward=0.0), *bandit.pending]
                expect(len(late) == STEPS // 6, f"{len(late)} decisions wait")
                bandit.tell_many(bandit.pending, [0.0] * len(bandit.pending))
                twin.tell_many(twin.pending, [0.0] * len(twin.pending))
                expect(bandit.pulls == twin.pulls, f"pulls: {bandit.pulls}, not {twin.pulls}")
                store.verify("bandit")
