"""Compile the code of the shop's bandit into the cache, when the image is built."""

import os
import tempfile
from pathlib import Path

import lastblock as lb

with tempfile.TemporaryDirectory() as folder:
    os.environ["STORE"] = str(Path(folder) / "shop.db")
    import shop  # it makes the bandit

    shop.button.compile()
    for _ in range(600):
        shop.answer(shop.button.ask().id, 1.0)
    shop.store.close()
    with lb.Store(os.environ["STORE"]) as store:
        store.bandit("button")  # compiles what repeats the events of a log
