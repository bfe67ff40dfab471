-- Times of the decisions that are out, a secret for tokens, and an index of the few events that a
-- bandit's memory is made of.
ALTER TABLE pending ADD COLUMN "time" bigint;   -- microseconds since 1970
UPDATE pending SET "time" = events."time" FROM events WHERE events.bandit = pending.bandit
    AND events.decision = pending.decision AND events.kind = 0;
-- Nobody has noted when the others were asked for: by the next event, or now.
UPDATE pending SET "time" = coalesce(
    (SELECT min("time") FROM events JOIN bandits USING (bandit)
        WHERE events.bandit = pending.bandit AND event > last_event),
    (extract(epoch FROM now()) * 1000000)::bigint)
    WHERE "time" IS NULL;

CREATE TABLE settings (name text PRIMARY KEY, value bytea NOT NULL);
INSERT INTO settings VALUES ('secret', decode(
    replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

CREATE INDEX notes ON events (bandit, event) WHERE kind > 5;
