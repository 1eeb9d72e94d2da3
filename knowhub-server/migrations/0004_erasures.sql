-- What no import may bring back: the text of erased versions, and deleted experiences under whatever number.

-- The last version whose text was erased for good; 0 when all of it is kept.
ALTER TABLE tombstones ADD COLUMN erased_to INTEGER NOT NULL DEFAULT 0;

-- Of an experience: a hash of what it said, which stays when that is erased.
ALTER TABLE tombstones ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';

CREATE INDEX tombstones_by_fingerprint ON tombstones (fingerprint) WHERE fingerprint <> '';

-- Whose last state is not kept was erased.
UPDATE tombstones SET erased_to = version
WHERE NOT EXISTS (SELECT 1 FROM versions
                  WHERE versions.kind = tombstones.kind AND versions.id = tombstones.id
                    AND versions.version = tombstones.version);

-- Looks only at what says the same under another number, and was here before an import.
DROP INDEX experiences_by_time;
CREATE INDEX experiences_by_time ON experiences (created_at, name, seq);

-- The same feedback of one moment is one.
DELETE FROM feedback WHERE id NOT IN
    (SELECT min(id) FROM feedback GROUP BY knowledge_id, text, principal, created_at);
