"""Write files with the version in which each number of arms had a layout of its own.

python make.py FOLDER
"""

import json
import sys
from pathlib import Path

import lastblock as lb

POLICY = lb.UCB1()


def play(bandit, steps):
    """Return the arms of some decisions, whose rewards depend on the arm and the step alone."""
    arms = []
    for step in range(steps):
        decision = bandit.ask()
        arms.append(decision.arm)
        bandit.tell(decision, float((7 * step + 3 * ord(decision.arm)) % 10 < 4))
    return arms


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    bandit = lb.Bandit(POLICY, list("abcde"), seed=5)  # a record with room for 5 arms
    played = play(bandit, 60)
    bandit.save(folder / "five.bandit")
    expected = {"five": {"played": played, "next": play(bandit, 40)}}
    with lb.Store(folder / "store.db", keep_events=True, snapshot_every=50) as store:
        bandit = store.create("grown", POLICY, arms=list("abc"), seed=5)  # room for 3, 4, then 6
        played = play(bandit, 30)
        for arm in "de":
            bandit.add_arm(arm)
            played += play(bandit, 30)
        expected["grown"] = {"played": played, "next": play(bandit.copy(), 40)}
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
