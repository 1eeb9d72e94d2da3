-- Experiences, their per-name aggregates, knowledge, and idempotency keys.

-- One row: who this store is, and the last number of its change sequence.
CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id       TEXT NOT NULL,
    last_seq INTEGER NOT NULL
) STRICT;

INSERT INTO store VALUES (1, lower(hex(randomblob(16))), 0);

CREATE TABLE experiences (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    seq          INTEGER NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    url          TEXT NOT NULL,
    category     TEXT NOT NULL,
    task         TEXT NOT NULL,
    score        INTEGER CHECK (score BETWEEN 1 AND 5),
    outcome      TEXT NOT NULL,
    tips         TEXT NOT NULL,
    content_id   TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    created_at   INTEGER NOT NULL  -- milliseconds since the Unix epoch, as all times here
) STRICT;

-- What is known of a resource name over all its experiences.
CREATE TABLE resource_names (
    name             TEXT PRIMARY KEY,
    experience_count INTEGER NOT NULL,
    score_sum        INTEGER NOT NULL,
    score_count      INTEGER NOT NULL,
    url              TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE knowledge (
    row           INTEGER PRIMARY KEY AUTOINCREMENT,
    seq           INTEGER NOT NULL UNIQUE,
    id            TEXT NOT NULL UNIQUE,
    task          TEXT NOT NULL,
    content       TEXT NOT NULL,
    types         TEXT NOT NULL,  -- JSON, as are tags, scopes, resource_ids, source, eval, relationships
    tags          TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    owner         TEXT NOT NULL,
    resource_ids  TEXT NOT NULL,
    source        TEXT NOT NULL,
    eval          TEXT NOT NULL,
    status        TEXT NOT NULL,
    relationships TEXT NOT NULL,
    message_id    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
    scope      TEXT NOT NULL,  -- method and path
    key        TEXT NOT NULL,
    body_hash  BLOB NOT NULL,
    answer     TEXT NOT NULL,  -- JSON
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
