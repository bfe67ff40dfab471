-- Bandits with their latest snapshot, and one row for each event.
CREATE TABLE bandits (
    bandit INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    policy TEXT NOT NULL,           -- JSON
    layout TEXT NOT NULL,           -- of the record in the snapshot
    snapshot BLOB NOT NULL,
    last_event INTEGER NOT NULL,    -- the last one that the snapshot holds
    next_id INTEGER NOT NULL,       -- of the next decision after the snapshot
    beginning BLOB,                 -- where events are kept: the snapshot before all of them …
    first_event INTEGER,            -- … the last event that it holds …
    first_id INTEGER,               -- … and the id of the next decision after it
    reserved INTEGER NOT NULL,      -- ids below may have been given, even if no event has them
    owner INTEGER                   -- the last process that opened it
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
    decision INTEGER,               -- its id
    arm INTEGER,
    reward REAL,
    probability REAL,
    extra TEXT,                     -- JSON
    PRIMARY KEY (bandit, event)
) WITHOUT ROWID;
CREATE INDEX notes ON events (bandit, event) WHERE kind > 5;  -- the few that are remembered
CREATE TABLE pending (              -- decisions that are out, as of the snapshot
    bandit INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    arm INTEGER NOT NULL,
    probability REAL,
    answered INTEGER,               -- not out any more, but still so at the beginning
    time INTEGER,                   -- microseconds since 1970
    PRIMARY KEY (bandit, decision)
) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (            -- small JSON documents: keys and settings of a service
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,       -- how often it was written
    body TEXT NOT NULL,             -- JSON
    PRIMARY KEY (collection, name)
) WITHOUT ROWID;
CREATE VIEW log AS                  -- the events, to read, with names instead of numbers
    SELECT bandits.name AS bandit, event, datetime(time / 1e6, 'unixepoch') AS time,
        kinds.name AS kind, decision, json_extract(label, '$') AS arm, reward, probability, extra
    FROM events JOIN bandits USING (bandit) JOIN kinds USING (kind)
        LEFT JOIN arms ON arms.bandit = events.bandit AND arms.arm = events.arm;
