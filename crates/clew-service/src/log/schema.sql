CREATE TABLE founder (
    one     INTEGER PRIMARY KEY CHECK (one = 0),
    record  BLOB NOT NULL CHECK (length(record) = 32),
    manager BLOB NOT NULL CHECK (length(manager) = 32)
) STRICT;
-- An entry behind the log's time; its statement is there once.
CREATE TABLE entry (
    place     INTEGER PRIMARY KEY,
    bytes     BLOB NOT NULL,
    statement BLOB NOT NULL UNIQUE CHECK (length(statement) = 32)
) STRICT;
-- Roots of complete subtrees: of the 2^level entries from place * 2^level on.
CREATE TABLE node (
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hash  BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (level, place)
) STRICT, WITHOUT ROWID;
-- The newest checkpoint that the log signed (0), and the newest that it publishes (1).
CREATE TABLE checkpoint (
    which INTEGER PRIMARY KEY CHECK (which IN (0, 1)),
    size  INTEGER NOT NULL,
    note  TEXT NOT NULL
) STRICT;
CREATE TABLE witness (
    key TEXT PRIMARY KEY,
    url TEXT NOT NULL
) STRICT;
