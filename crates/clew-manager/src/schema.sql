-- The database of one group's manager. It holds no secret: each member's x is derived from the
-- issuer key and the member's salt.

-- Sealed parts of the group file, byte for byte: record 0, then one per epoch.
CREATE TABLE part (
    epoch INTEGER PRIMARY KEY,     -- 0, 1, 2, ...
    bytes BLOB NOT NULL            -- length, body, signature (spec/group-file.md section 2)
) STRICT;

-- The register's head and the state that extends it. One row; mutable.
CREATE TABLE register (
    id    INTEGER PRIMARY KEY CHECK (id = 0),
    bytes BLOB NOT NULL,           -- the sealed register part
    peaks BLOB NOT NULL            -- roots of its complete subtrees, 32 bytes each
) STRICT;

-- One row per machine that was ever enrolled; only revoked_in changes.
CREATE TABLE machine (
    idx         INTEGER PRIMARY KEY, -- place in the register, from 0
    name        TEXT NOT NULL UNIQUE,
    joined      INTEGER NOT NULL,    -- epoch of enrolment
    enrolled_at INTEGER NOT NULL,    -- nanoseconds since 1970
    salt        BLOB NOT NULL,       -- 16 bytes; x = HKDF(seed, salt, name)
    credential  BLOB NOT NULL,       -- A of epoch 0, 48 bytes
    tag         BLOB NOT NULL UNIQUE,-- by which opening finds the row, 32 bytes
    revoked_in  INTEGER              -- the epoch that locked it out
) STRICT;
