-- The database of one group's manager. It holds no secret: each member's x is derived from the
-- issuer key and the member's salt, and a device's y never leaves the device.

-- Sealed parts of the group file, byte for byte: record 0, then one per epoch.
CREATE TABLE part (
    epoch INTEGER PRIMARY KEY,     -- 0, 1, 2, ...
    bytes BLOB NOT NULL            -- length, body, signature (spec/group-file.md section 2)
) STRICT;

-- The register's head. One row; mutable.
CREATE TABLE register (
    id    INTEGER PRIMARY KEY CHECK (id = 0),
    bytes BLOB NOT NULL            -- the sealed register part
) STRICT;

-- The register's tree: roots of its complete subtrees (RFC 6962). Rows are only added.
CREATE TABLE node (
    level INTEGER NOT NULL,        -- 0: a leaf; a node of level l stands over 2^l leaves
    idx   INTEGER NOT NULL,        -- from 0, within its level
    hash  BLOB NOT NULL,           -- 32 bytes
    PRIMARY KEY (level, idx)
) STRICT, WITHOUT ROWID;

-- One row per machine that was ever enrolled; only revoked_in changes.
CREATE TABLE machine (
    idx         INTEGER PRIMARY KEY, -- place in the register, from 0
    name        TEXT NOT NULL UNIQUE,
    enrolled_at INTEGER NOT NULL,    -- nanoseconds since 1970
    salt        BLOB NOT NULL,       -- 16 bytes; x = HKDF(seed, salt, name)
    entry       BLOB NOT NULL,       -- its register entry (spec/opening.md section 4)
    tag         BLOB NOT NULL UNIQUE,-- by which opening finds the row, 32 bytes
    revoked_in  INTEGER              -- the epoch that locked it out
) STRICT;
