"""Writes the files of this folder; run with the version before Adaptive LB-SDA's second edition.

From the repository's root: ``python tests/data/before_the_second_edition/make.py``.
"""

from pathlib import Path

import lastblock as lb

FOLDER = Path(__file__).parent


def main() -> None:
    bandit = lb.Bandit(lb.AdaptiveLBSDA(), ["a", "b"], seed=5)
    with lb.Store(FOLDER / "store.db", keep_events=True) as store:
        stored = store.create("old", lb.AdaptiveLBSDA(), ["a", "b"], seed=5)
        store.create("other", lb.LBSDAGM(), ["a", "b"], seed=5)
        for t in range(40):
            for one in (bandit, stored):
                decision = one.ask()
                one.tell(decision, float((t + (decision.arm == "a")) % 3))
    bandit.save(FOLDER / "adaptivelbsda.bandit")
    with lb.Fleet.create(FOLDER / "old.fleet", lb.AdaptiveLBSDA(), arms=2, size=2, seed=5) as fleet:
        fleet.ask(range(2))


if __name__ == "__main__":
    main()
