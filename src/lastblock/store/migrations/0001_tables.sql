-- Bandits with their latest snapshot, and one row for each event.
CREATE TABLE bandits (
    bandit integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    policy text NOT NULL,               -- JSON
    layout text NOT NULL,               -- of the record in the snapshot
    snapshot bytea NOT NULL,
    last_event bigint NOT NULL,         -- the last one that the snapshot holds
    asked bigint NOT NULL DEFAULT 0,    -- decisions that it holds
    beginning bytea,                    -- where events are kept: the snapshot before all of them …
    first_event bigint,                 -- … the last event that it holds …
    first_asked bigint,                 -- … and its decisions
    generation bigint NOT NULL DEFAULT 0    -- how often the bandit was opened
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
    decision bigint,                    -- its number: 0, 1, 2, … for each bandit
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

CREATE TABLE pending (                  -- decisions that are out, as of the snapshot
    bandit integer NOT NULL,
    decision bigint NOT NULL,
    arm integer NOT NULL,
    probability double precision,
    answered bigint,                    -- not out any more, but still so at the beginning
    PRIMARY KEY (bandit, decision)
);

CREATE TABLE generations (              -- the decisions from `first` on were asked for in …
    bandit integer NOT NULL,
    first bigint NOT NULL,
    generation bigint NOT NULL,
    PRIMARY KEY (bandit, first)
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
