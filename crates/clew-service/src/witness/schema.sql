-- The newest checkpoint of each log that this witness cosigned.
CREATE TABLE cosigned (
    origin TEXT PRIMARY KEY,
    size   INTEGER NOT NULL,
    root   BLOB NOT NULL CHECK (length(root) = 32),
    note   TEXT NOT NULL
) STRICT;
