-- Bandits with their latest snapshot, and one row for each event.
CREATE TABLE bandits (
    bandit integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    policy text NOT NULL,               -- JSON
    layout text NOT NULL,               -- of the record in the snapshot
    snapshot bytea NOT NULL,
    last_event bigint NOT NULL,         -- the last one that the snapshot holds
    next_id bigint NOT NULL,            -- of the next decision after the snapshot
    beginning bytea,                    -- where events are kept: the snapshot before all of them …
    first_event bigint,                 -- … the last event that it holds …
    first_id bigint,                    -- … and the id of the next decision after it
    reserved bigint NOT NULL            -- ids below may have been given, even if no event has them
);
ALTER TABLE bandits ALTER COLUMN snapshot SET STORAGE EXTERNAL,
    ALTER COLUMN beginning SET STORAGE EXTERNAL;  -- records hardly compress

CREATE TABLE arms (
    bandit integer NOT NULL,
    arm integer NOT NULL,
    label text NOT NULL,                -- JSON
    PRIMARY KEY (bandit, arm)
);

CREATE TABLE kinds (kind smallint PRIMARY KEY, name text NOT NULL);

CREATE TABLE events (
    bandit integer NOT NULL,
    arm integer,
    event bigint NOT NULL,
    "time" bigint NOT NULL,             -- microseconds since 1970
    decision bigint,                    -- its id
    reward double precision,
    probability double precision,
    kind smallint NOT NULL,
    extra text,                         -- JSON
    PRIMARY KEY (bandit, event)         -- the second fence: no event is written twice
) WITH (
    -- Snapshots delete thousands of rows at a time; their space is used again after a vacuum.
    autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 50000,
    autovacuum_vacuum_insert_scale_factor = 0.0, autovacuum_vacuum_insert_threshold = 1000000
);
CREATE INDEX notes ON events (bandit, event) WHERE kind > 5;  -- the few that are remembered

CREATE TABLE pending (                  -- decisions that are out, as of the snapshot
    bandit integer NOT NULL,
    decision bigint NOT NULL,
    arm integer NOT NULL,
    probability double precision,
    answered bigint,                    -- not out any more, but still so at the beginning
    "time" bigint,                      -- microseconds since 1970
    PRIMARY KEY (bandit, decision)
);

CREATE TABLE owners (
    bandit integer PRIMARY KEY,
    epoch bigint NOT NULL,              -- raised by each new owner; every transaction checks it
    holder text,                        -- the store that owns the bandit; NULL if none does
    process integer,                    -- its process …
    host text,                          -- … the machine …
    identity text,                      -- … and which process of that machine, to tell if it ended
    expires timestamptz NOT NULL        -- until then nobody else may take the bandit
) WITH (fillfactor = 50);               -- renewals update rows in place

CREATE TABLE settings (name text PRIMARY KEY, value bytea NOT NULL);

CREATE TABLE documents (                -- small JSON documents: keys and settings of a service
    collection text NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,            -- how often it was written
    body text NOT NULL,                 -- JSON
    PRIMARY KEY (collection, name)
);

-- The events to read, with names instead of numbers.
CREATE VIEW log AS
    SELECT bandits.name AS bandit, event, to_timestamp("time" / 1e6) AS "time",
        kinds.name AS kind, decision, label::jsonb #>> '{}' AS arm, reward, probability, extra
    FROM events JOIN bandits USING (bandit) JOIN kinds USING (kind)
        LEFT JOIN arms ON arms.bandit = events.bandit AND arms.arm = events.arm;
