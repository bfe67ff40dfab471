"""Write the files of a format that later releases must read: ``python tests/data/write_format.py``.

It refuses to replace a file: the files of a format never change.
"""

import json
from pathlib import Path

import lastblock as lb
from lastblock.fleet.file import VERSION as FLEET
from lastblock.live.persistence import VERSION as STATE
from lastblock.store.schema import newest

DATA = Path(__file__).parent
POLICIES = {
    "ucb1": lb.UCB1(),
    "thompson": lb.Thompson(),
    "lbsdalm": lb.LBSDALM(minimum=4, scale=0.5),
}


def live(bandit: lb.Bandit, begin: int, end: int) -> None:
    """Take and answer decisions of every kind; the same steps change a bandit in the same way."""
    for step in range(begin, end):
        decision = bandit.ask()
        if step % 5:
            bandit.tell(decision, (step * 7 % 11) / 10.0, defer=step % 5 == 4)
        if step % 20 == 7:
            bandit.ask(2, distinct=True)
            bandit.ask(among=["green"])
            bandit.observe("red", 0.5)
        if step % 20 == 13:
            bandit.expire(older_than=4)
    if begin == 0:
        bandit.add_arm("later")
        bandit.pause_arm("red")
        bandit.set_floors({"green": 0.1})
        bandit.retire_arm("blue")


def write_states(folder: Path) -> None:
    """Write states of bandits as files."""
    for name, policy in POLICIES.items():
        bandit = lb.Bandit(policy, ["red", "green", "blue"], seed=7, floor=0.05)
        live(bandit, 0, 60)
        bandit.save(folder / f"{name}.bandit")
        (folder / f"{name}.json").write_text(bandit.to_json(), encoding="utf-8")


def write_store(folder: Path) -> None:
    """Write a store with each of the policies, and the states of its bandits."""
    with lb.Store(folder / "store.db", keep_events=True, snapshot_every=100) as store:
        states = {}
        for name, policy in POLICIES.items():
            bandit = store.create(name, policy, ["red", "green", "blue"], seed=7, floor=0.05)
            live(bandit, 0, 60)
            live(bandit, 60, 80)
            states[name] = bandit.to_json()
        (folder / "store.json").write_text(json.dumps(states), encoding="utf-8")


def tell_fleet(fleet: lb.Fleet, begin: int, end: int) -> list[list[int]]:
    """Take and answer decisions of some bandits, of which some stay out; return the arms."""
    taken = []
    for step in range(begin, end):
        ids = [step % 3, (step + 1) % 3]
        arms = fleet.ask(ids)
        fleet.tell(ids[:1], arms[:1], [(step * 7 % 11) / 10.0])
        taken.append(arms.tolist())
    return taken


def new_fleet() -> lb.Fleet:
    """Return a fleet, one of whose bandits is never asked."""
    return lb.Fleet(POLICIES["lbsdalm"], arms=2, size=4, seed=7)


def write_fleet(folder: Path) -> None:
    """Write a fleet."""
    fleet = new_fleet()
    tell_fleet(fleet, 0, 60)
    fleet.save(folder / "lbsdalm.fleet")


if __name__ == "__main__":
    for kind, number, write in (
        ("fleet", FLEET, write_fleet),
        ("state", STATE, write_states),
        ("store", newest("sqlite"), write_store),
    ):
        folder = DATA / f"{kind}_format_{number}"
        folder.mkdir()  # an error if it is there
        write(folder)
