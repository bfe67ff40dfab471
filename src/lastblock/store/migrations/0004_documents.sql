-- Small JSON documents beside the bandits: keys and settings of a service.
CREATE TABLE documents (
    collection text NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,            -- how often it was written
    body text NOT NULL,                 -- JSON
    PRIMARY KEY (collection, name)
);
