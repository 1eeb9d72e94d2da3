-- Resources, earlier versions, tombstones, evaluations, feedback, demand, and who wrote what.

ALTER TABLE experiences ADD COLUMN authenticated_as TEXT NOT NULL DEFAULT '';
ALTER TABLE experiences ADD COLUMN on_behalf_of TEXT NOT NULL DEFAULT '';

CREATE INDEX experiences_by_name ON experiences (name, id);

-- An import asks by it whether the same report is here under another number.
CREATE INDEX experiences_by_time ON experiences (created_at);

-- Counted up by every change; the record's ETag.
ALTER TABLE knowledge ADD COLUMN version INTEGER NOT NULL DEFAULT 1;

-- Who last approved or rejected it, as claimed.
ALTER TABLE knowledge ADD COLUMN verified_by TEXT NOT NULL DEFAULT '';

CREATE INDEX knowledge_by_status ON knowledge (status, row);

-- Contents and resources; a content node is a resource of type `text`.
CREATE TABLE resources (
    row              INTEGER PRIMARY KEY AUTOINCREMENT,
    seq              INTEGER NOT NULL UNIQUE,
    id               TEXT NOT NULL UNIQUE,
    root             TEXT NOT NULL,  -- the id's first segment
    title            TEXT NOT NULL,
    body             TEXT NOT NULL,
    secure_body      TEXT NOT NULL,  -- '' or `encrypted:AES256-GCM:…`, bound to the id
    content_type     TEXT NOT NULL,
    metadata         TEXT NOT NULL,  -- JSON
    sort_order       INTEGER NOT NULL,
    submitted_by     TEXT NOT NULL,
    authenticated_as TEXT NOT NULL,
    on_behalf_of     TEXT NOT NULL,
    content_hash     TEXT NOT NULL,  -- sha256 of the body's UTF-8 bytes, in hex
    version          INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;

CREATE INDEX resources_by_root ON resources (root, sort_order, id);

-- What a record said before it was changed or deleted.
CREATE TABLE versions (
    kind        TEXT NOT NULL,  -- `resource` or `knowledge`
    id          TEXT NOT NULL,
    version     INTEGER NOT NULL,
    record      TEXT NOT NULL,  -- JSON, sealed bodies as sealed
    replaced_at INTEGER NOT NULL,
    replaced_by TEXT NOT NULL,  -- the principal
    PRIMARY KEY (kind, id, version)
) STRICT, WITHOUT ROWID;

-- What was deleted, by whom and why; derived indexes follow its numbers as they follow the rows'.
CREATE TABLE tombstones (
    kind       TEXT NOT NULL,  -- `experience`, `resource` or `knowledge`
    id         TEXT NOT NULL,
    seq        INTEGER NOT NULL UNIQUE,
    row        INTEGER NOT NULL,  -- the row it had
    version    INTEGER NOT NULL,  -- the last version it had
    deleted_at INTEGER NOT NULL,
    deleted_by TEXT NOT NULL,  -- the principal
    reason     TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- Verdicts on knowledge that was injected into a trace; each counts once.
CREATE TABLE evaluations (
    principal            TEXT NOT NULL,
    trace_id             TEXT NOT NULL,
    knowledge_id         TEXT NOT NULL,
    injected_at_sequence INTEGER NOT NULL,
    goal_id              TEXT NOT NULL,
    eval_status          TEXT NOT NULL,
    reason               TEXT NOT NULL,
    evaluated_at         TEXT NOT NULL,  -- as the trace wrote it
    evaluated_at_trigger TEXT NOT NULL,
    created_at           INTEGER NOT NULL,
    PRIMARY KEY (principal, trace_id, knowledge_id, injected_at_sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX evaluations_by_knowledge ON evaluations (knowledge_id);

-- What users said a record should say instead.
CREATE TABLE feedback (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    knowledge_id TEXT NOT NULL,
    text         TEXT NOT NULL,
    principal    TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    applied_at   INTEGER  -- when a model worked it into the content
) STRICT;

CREATE INDEX feedback_by_knowledge ON feedback (knowledge_id);

-- What was asked for and not found.
CREATE TABLE demand (
    kind     TEXT NOT NULL,
    wanted   TEXT NOT NULL,  -- the query, secrets cut out, or the id
    count    INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    PRIMARY KEY (kind, wanted)
) STRICT, WITHOUT ROWID;

-- Numbered in the order of the writes, so that the oldest answers can make room.
CREATE TABLE idempotent_answers (
    number     INTEGER PRIMARY KEY,
    scope      TEXT NOT NULL,  -- principal, method and path
    key        TEXT NOT NULL,
    body_hash  BLOB NOT NULL,
    answer     TEXT NOT NULL,  -- JSON
    expires_at INTEGER NOT NULL,
    UNIQUE (scope, key)
) STRICT;

INSERT INTO idempotent_answers (scope, key, body_hash, answer, expires_at)
SELECT scope, key, body_hash, answer, expires_at FROM idempotency_keys ORDER BY expires_at;

DROP TABLE idempotency_keys;
