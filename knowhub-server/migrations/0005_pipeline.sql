-- What two records say alike, which records were merged, and how far the processing of each is.

-- SHA-256 of task and content as they compare; empty until the hub has reckoned it.
ALTER TABLE knowledge ADD COLUMN text_hash BLOB NOT NULL DEFAULT x'';

CREATE INDEX knowledge_by_text ON knowledge (text_hash);

-- Which record was turned down for the sake of which other; never deleted but by an erasure.
CREATE TABLE merges (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    kind            TEXT NOT NULL,  -- `duplicate` or `subset`
    record          TEXT NOT NULL,  -- what was turned down
    target          TEXT NOT NULL,  -- what stays
    reason          TEXT NOT NULL,
    actor           TEXT NOT NULL,
    submitter       TEXT NOT NULL,  -- whose confirmation it is
    counted_helpful INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    undone_at       INTEGER,
    undone_by       TEXT NOT NULL DEFAULT '',
    undone_reason   TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX merges_by_record ON merges (record, target);
CREATE INDEX merges_by_target ON merges (target, submitter);

-- How far the processing of a record is, beside its status; a record that was never judged has no row.
CREATE TABLE pipeline (
    row         INTEGER PRIMARY KEY,  -- that of the record
    attempts    INTEGER NOT NULL,     -- of the stage it is in
    not_before  INTEGER NOT NULL,
    lease_owner TEXT NOT NULL,        -- '' when nobody works on it
    lease_until INTEGER NOT NULL,
    last_error  TEXT NOT NULL,
    last_reply  TEXT NOT NULL,        -- what the model said when it could not be used
    judged      INTEGER NOT NULL,     -- whether a model judged it in every stage so far
    queued_at   INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

-- Tools are resources `tools/{category}/{slug}`; a record may name one by its slug or its title.
CREATE INDEX tools_by_slug ON resources (lower(substr(id, 7 + instr(substr(id, 7), '/'))))
WHERE id > 'tools/' AND id < 'tools0';
CREATE INDEX tools_by_title ON resources (lower(title))
WHERE id > 'tools/' AND id < 'tools0';
