-- Embeddings of knowledge; each belongs to what its record says now.

-- What vectors can be compared with each other.
CREATE TABLE embedding_spaces (
    space       INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL,     -- the model, and what else decides which vector a text gets
    dimension   INTEGER NOT NULL,
    mark        INTEGER NOT NULL,  -- records up to this change have their vector
    is_complete INTEGER NOT NULL,  -- 1 once all records had one
    UNIQUE (name, dimension)
) STRICT;

CREATE TABLE vectors (
    id     INTEGER PRIMARY KEY,
    row    INTEGER NOT NULL,  -- of `knowledge`
    space  INTEGER NOT NULL,  -- of `embedding_spaces`
    vector BLOB NOT NULL,     -- half-precision floats, little endian, of unit length; empty: the model refuses the text
    is_cut INTEGER NOT NULL,  -- 1: only the beginning of the text was embedded
    UNIQUE (row, space)
) STRICT;

-- A vector tells much of its text, so it goes with it.
CREATE TRIGGER vectors_of_deleted AFTER DELETE ON knowledge BEGIN
    DELETE FROM vectors WHERE row = old.row;
END;

CREATE TRIGGER vectors_of_changed AFTER UPDATE OF task, content ON knowledge
WHEN new.task <> old.task OR new.content <> old.content BEGIN
    DELETE FROM vectors WHERE row = old.row;
END;
