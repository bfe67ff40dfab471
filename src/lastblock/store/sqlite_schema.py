"""The tables of a store's SQLite file, and the upgrade of files with older tables."""

import secrets
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from lastblock.engine.events import ASK, KINDS
from lastblock.live.decisions import TAG_BITS, TAGS
from lastblock.live.persistence import unpack
from lastblock.store.messages import check_secret

Execute: TypeAlias = Callable[..., sqlite3.Cursor]

VERSION = 3
APPLICATION = 0x6C617374  # "last": SQLite keeps this mark to say which program's file it is

_BANDITS = """
CREATE TABLE bandits (
    bandit INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    policy TEXT NOT NULL,           -- JSON
    layout TEXT NOT NULL,           -- of the record in the snapshot
    snapshot BLOB NOT NULL,
    last_event INTEGER NOT NULL,    -- the last one that the snapshot holds
    beginning BLOB,                 -- where events are kept: the snapshot before all of them …
    first_event INTEGER             -- … and the last one that it holds
);
CREATE TABLE arms (
    bandit INTEGER NOT NULL,
    arm INTEGER NOT NULL,
    label TEXT NOT NULL,            -- JSON
    PRIMARY KEY (bandit, arm)
) WITHOUT ROWID;
CREATE TABLE kinds (kind INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE events (
    bandit INTEGER NOT NULL,
    event INTEGER NOT NULL,
    time INTEGER NOT NULL,          -- microseconds since 1970
    kind INTEGER NOT NULL,
    decision INTEGER,               -- its number: 0, 1, 2, … for each bandit
    arm INTEGER,
    reward REAL,
    probability REAL,
    extra TEXT,                     -- JSON
    PRIMARY KEY (bandit, event)
) WITHOUT ROWID
"""

_SECOND = f"""
ALTER TABLE bandits ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;  -- decisions, of the snapshot …
ALTER TABLE bandits ADD COLUMN first_asked INTEGER;               -- … and of the beginning
ALTER TABLE bandits ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;  -- how often it was opened
ALTER TABLE bandits ADD COLUMN owner INTEGER;                     -- the last process that opened it
CREATE TABLE pending (              -- decisions that are out, as of the snapshot
    bandit INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    arm INTEGER NOT NULL,
    probability REAL,
    answered INTEGER,               -- not out any more, but still so at the beginning
    PRIMARY KEY (bandit, decision)
) WITHOUT ROWID;
CREATE TABLE generations (          -- the decisions from `first` on were asked for in …
    bandit INTEGER NOT NULL,
    first INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (bandit, first)
) WITHOUT ROWID;
DROP VIEW IF EXISTS log;
CREATE VIEW log AS                  -- the events, to read, with the ids of decisions
    SELECT bandits.name AS bandit, event, datetime(time / 1e6, 'unixepoch') AS time,
        kinds.name AS kind,
        decision + ((SELECT generations.generation % {TAGS} FROM generations
            WHERE generations.bandit = events.bandit AND first <= decision
            ORDER BY first DESC LIMIT 1) << {TAG_BITS}) AS decision,
        json_extract(label, '$') AS arm, reward, probability, extra
    FROM events JOIN bandits USING (bandit) JOIN kinds USING (kind)
        LEFT JOIN arms ON arms.bandit = events.bandit AND arms.arm = events.arm
"""

_DOCUMENTS = """
CREATE TABLE IF NOT EXISTS documents (
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,       -- how often it was written
    body TEXT NOT NULL,             -- JSON
    PRIMARY KEY (collection, name)
) WITHOUT ROWID
"""


def complete(run: Execute) -> None:
    """Add a table and kinds of events that came later, and that older programs can do without."""
    run(_DOCUMENTS)
    name_kinds(run)


_THIRD = """
ALTER TABLE pending ADD COLUMN time INTEGER;    -- microseconds since 1970
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX notes ON events (bandit, event) WHERE kind > 5
"""
"""The index finds the few events that a bandit's memory is made of, and costs others nothing."""


def make(run: Execute) -> None:
    """Create all tables in an empty file."""
    _each(run, _BANDITS)
    _each(run, _SECOND)
    _third(run)
    run(f"PRAGMA application_id = {APPLICATION}")


def upgrade(run: Execute, version: int) -> None:
    """Upgrade a file of an older format."""
    if version < 2:
        _second(run)
    _third(run)
    run(
        "UPDATE pending SET time = events.time FROM events WHERE events.bandit = pending.bandit "
        f"AND events.decision = pending.decision AND events.kind = {ASK}"
    )
    # Nobody has noted when the others were asked for: by the next event, or now.
    run(
        "UPDATE pending SET time = coalesce((SELECT min(time) FROM events WHERE events.bandit = "
        "pending.bandit AND event > (SELECT last_event FROM bandits WHERE bandits.bandit = "
        "pending.bandit)), CAST(strftime('%s', 'now') AS INTEGER) * 1000000) WHERE time IS NULL"
    )


def read_secret(run: Execute, label: str) -> bytes:
    """Return the secret of the store, or raise a `StoreError`."""
    return check_secret(label, run("SELECT value FROM settings WHERE name = 'secret'").fetchone())


def _third(run: Execute) -> None:
    """Add times, a secret for tokens, and the kinds of events that came later."""
    _each(run, _THIRD)
    run("INSERT INTO settings VALUES ('secret', ?)", (secrets.token_bytes(32),))
    complete(run)
    run(f"PRAGMA user_version = {VERSION}")


def name_kinds(run: Execute) -> None:
    """Add the kinds of events that a file does not have, since an older lastblock has made it."""
    ((known,),) = run("SELECT count(*) FROM kinds").fetchall()
    for code, kind in list(enumerate(KINDS))[known:]:
        run("INSERT INTO kinds VALUES (?, ?)", (code, kind))


def _second(run: Execute) -> None:
    """Upgrade a file of format 1: move the decisions that are out from snapshots into a table."""
    _each(run, _SECOND)
    bandits = run("SELECT bandit, snapshot, last_event, beginning FROM bandits").fetchall()
    for bandit, body, event, beginning in bandits:
        latest, asked = _out_of(body)
        first, first_asked = _out_of(beginning) if beginning is not None else ({}, None)
        for decision, (arm, chance) in {**first, **latest}.items():
            run(
                "INSERT INTO pending (bandit, decision, arm, probability) VALUES (?, ?, ?, ?)",
                (bandit, decision, arm, chance),
            )
        for decision in first.keys() - latest.keys():
            run(
                "UPDATE pending SET answered = ? WHERE bandit = ? AND decision = ?",
                (event, bandit, decision),
            )
        run(
            "UPDATE bandits SET asked = ?, first_asked = ? WHERE bandit = ?",
            (asked, first_asked, bandit),
        )
        run("INSERT INTO generations VALUES (?, 0, 0)", (bandit,))


def _out_of(body: bytes) -> tuple[dict[int, tuple[int, float | None]], int]:
    """Return the decisions that were out, with the numbers of their arms, and how many were asked.

    Both are empty if the snapshot is damaged: opening the bandit will report that.
    """
    with suppress(IndexError, KeyError, TypeError, ValueError):
        about, _ = unpack(bytes(body))
        active = about["active"]
        out = {
            int(id): (int(active[arm] if arm >= 0 else -1 - arm), chance)
            for id, arm, chance in about["out"]
        }
        return out, int(about["next_id"])
    return {}, 0


def _each(run: Execute, script: str) -> None:
    for statement in script.split(";"):
        run(statement)


_ANSWERS = (
    "SELECT decision FROM events WHERE bandit = :bandit AND event > :last AND event <= :event "
    "AND kind IN (1, 2)"
)
ADD_ASKED = (
    "INSERT OR IGNORE INTO pending (bandit, decision, arm, probability, time) "
    "SELECT bandit, decision, arm, probability, time FROM events WHERE bandit = :bandit "
    f"AND event > :last AND event <= :event AND kind = {ASK} "
    f"AND decision NOT IN ({_ANSWERS} AND decision IS NOT NULL)"
)
KEEP_ANSWERED = (
    "UPDATE pending SET answered = :event WHERE bandit = :bandit "
    f"AND decision IN ({_ANSWERS} AND decision < :first_asked)"
)
DROP_ANSWERED = (
    "DELETE FROM pending WHERE bandit = :bandit "
    f"AND decision IN ({_ANSWERS} AND decision >= :first_asked AND decision < :since)"
)
"""These statements apply the events since the last snapshot to the decisions that are out. Their
time depends on the number of events, not on how many decisions are out. With `keep_events`, the
decisions that were out at the beginning stay, marked as answered: replays from there need them."""
