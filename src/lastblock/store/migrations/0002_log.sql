-- The events to read, with names instead of numbers and the ids of decisions.
CREATE VIEW log AS
    SELECT bandits.name AS bandit, event, to_timestamp("time" / 1e6) AS "time",
        kinds.name AS kind,
        decision + ((SELECT generations.generation % 8192 FROM generations
            WHERE generations.bandit = events.bandit AND first <= decision
            ORDER BY first DESC LIMIT 1) << 40) AS decision,
        label::jsonb #>> '{}' AS arm, reward, probability, extra
    FROM events JOIN bandits USING (bandit) JOIN kinds USING (kind)
        LEFT JOIN arms ON arms.bandit = events.bandit AND arms.arm = events.arm;
