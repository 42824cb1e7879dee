-- The database of one group's manager. It holds no secret: each machine's x, and the s of its offer,
-- are derived from the issuer key and a salt; a device's y never leaves the device.

-- Sealed records of the group file, byte for byte: record 0, then one per epoch.
CREATE TABLE part (
    epoch INTEGER PRIMARY KEY,       -- 0, 1, 2, ...
    bytes BLOB NOT NULL              -- length, body, signature (spec/group-file.md section 2)
) STRICT;

-- Sealed checkpoints of the register: one for each size that a record binds or that rows given to
-- others have. They hold for ever.
CREATE TABLE checkpoint (
    machines INTEGER PRIMARY KEY,    -- number of entries, at least 1
    root     BLOB NOT NULL,          -- 32 bytes
    bytes    BLOB NOT NULL           -- the sealed part
) STRICT;

-- The register's head. One row; mutable.
CREATE TABLE register (
    id    INTEGER PRIMARY KEY CHECK (id = 0),
    bytes BLOB NOT NULL,             -- the sealed register part
    version INTEGER NOT NULL DEFAULT 0 -- counts changes of what the group file is made of
) STRICT;

-- The register's tree: roots of its complete subtrees (RFC 6962). Rows are only added.
CREATE TABLE node (
    level INTEGER NOT NULL,          -- 0: a leaf; a node of level l stands over 2^l leaves
    idx   INTEGER NOT NULL,          -- from 0, within its level
    hash  BLOB NOT NULL,             -- 32 bytes
    PRIMARY KEY (level, idx)
) STRICT, WITHOUT ROWID;

-- One row per entry of the register. A name whose machine was revoked may have another row later;
-- only revoked_in changes, once.
CREATE TABLE machine (
    idx         INTEGER PRIMARY KEY, -- place in the register, from 0
    name        TEXT NOT NULL,
    enrolled_at INTEGER NOT NULL,    -- nanoseconds since 1970
    salt        BLOB NOT NULL,       -- 16 bytes; x = HKDF(seed, salt, name)
    entry       BLOB NOT NULL,       -- its register entry (spec/opening.md section 4)
    revoked_in  INTEGER              -- the epoch that locked it out
) STRICT;
CREATE INDEX machine_name ON machine (name, idx);
CREATE UNIQUE INDEX machine_in_use ON machine (name) WHERE revoked_in IS NULL;
CREATE INDEX machine_revoked ON machine (revoked_in) WHERE revoked_in IS NOT NULL;

-- Joins from devices' own hosts, by invitation; many may be pending at once. The first request that
-- answers an invitation gets its offer, the same one each time it is sent.
CREATE TABLE joining (
    nonce      BLOB PRIMARY KEY,     -- 32 random bytes, those of the invitation
    name       TEXT NOT NULL,        -- the machine that is invited
    created_at INTEGER NOT NULL,     -- nanoseconds since 1970
    request    BLOB,                 -- payload of the device's request, once there is one
    salt       BLOB,                 -- 16 random bytes, fresh with the offer; x and s derive from it
    joined     INTEGER,              -- what the offer says: its epoch,
    replaces   INTEGER,              -- and the row that it replaces, -1 for none
    machine    INTEGER UNIQUE REFERENCES machine (idx), -- the row, once the device has accepted
    CHECK ((request IS NULL) = (salt IS NULL)),
    CHECK ((request IS NULL) = (joined IS NULL)),
    CHECK ((request IS NULL) = (replaces IS NULL)),
    CHECK (request IS NOT NULL OR machine IS NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX joining_open ON joining (name, joined) WHERE machine IS NULL;

-- What has to be in the group's log (spec/log.md section 3), in that order: written with the change
-- that it tells of, sent afterwards.
CREATE TABLE outbox (
    seq   INTEGER PRIMARY KEY,       -- from 1, without holes
    kind  INTEGER NOT NULL,          -- of the log's entry
    body  BLOB NOT NULL,             -- its body
    place INTEGER                    -- in the log, once it is there
) STRICT;
CREATE INDEX outbox_waiting ON outbox (seq) WHERE place IS NULL;

-- Rows to revoke with the next epoch that the service makes.
CREATE TABLE queued (
    machine   INTEGER PRIMARY KEY REFERENCES machine (idx),
    queued_at INTEGER NOT NULL       -- nanoseconds since 1970
) STRICT;

-- Rights of factories to invite machines. Their secrets are derived from the issuer key and the id.
CREATE TABLE factory (
    id         BLOB PRIMARY KEY,     -- 16 random bytes
    prefix     TEXT NOT NULL,        -- names begin with it
    machines   INTEGER NOT NULL,     -- how many names it may invite,
    used       INTEGER NOT NULL,     -- and has invited
    until      INTEGER NOT NULL,     -- its end, nanoseconds since 1970
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may write into the log and onto the board. A key keeps its row when it is dismissed.
CREATE TABLE author (
    seq         INTEGER PRIMARY KEY, -- in the order of admission
    signs       BLOB NOT NULL UNIQUE, -- Ed25519 key, 32 bytes
    receives    BLOB NOT NULL,       -- X25519 key, 32 bytes
    name        TEXT NOT NULL,
    role        INTEGER NOT NULL,    -- 0 none any more, 1 trustee, 2 observer, 3 requester
    admitted_at INTEGER NOT NULL     -- nanoseconds since 1970
) STRICT;
CREATE UNIQUE INDEX author_name ON author (name) WHERE role > 0;

-- Which key has which share of which opening key: only keys with role 1.
CREATE TABLE trusteeship (
    since INTEGER NOT NULL,          -- first epoch of the opening key
    idx   INTEGER NOT NULL,          -- index of the trustee, from 1
    signs BLOB NOT NULL,             -- Ed25519 key, 32 bytes
    PRIMARY KEY (since, idx)
) STRICT, WITHOUT ROWID;

-- The board (spec/board.md): posts as they were signed, in their order. Posts are only added.
CREATE TABLE post (
    seq       INTEGER PRIMARY KEY,   -- on the whole board, from 1
    topic     BLOB NOT NULL,         -- 32 bytes
    place     INTEGER NOT NULL,      -- within the topic, from 1
    author    BLOB NOT NULL,         -- Ed25519 key, 32 bytes
    kind      INTEGER NOT NULL,
    id        BLOB NOT NULL UNIQUE,  -- SHA-256 of the post
    posted_at INTEGER NOT NULL,      -- nanoseconds since 1970, by the board's clock
    bytes     BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX post_topic ON post (topic, place);
CREATE INDEX post_plan ON post (seq) WHERE kind = 1;
CREATE INDEX post_author ON post (topic, author);
CREATE INDEX post_time ON post (posted_at);

-- Keys that a topic's plan names: they read and write that topic, whatever their role.
CREATE TABLE seat (
    topic BLOB NOT NULL,
    signs BLOB NOT NULL,
    PRIMARY KEY (signs, topic)
) STRICT, WITHOUT ROWID;
CREATE INDEX seat_topic ON seat (topic);

-- How much an author posted on one day, and the board in all (author empty, day 0).
CREATE TABLE posted (
    author BLOB NOT NULL,
    day    INTEGER NOT NULL,         -- days since 1970
    topics INTEGER NOT NULL,         -- topics begun
    bytes  INTEGER NOT NULL,
    PRIMARY KEY (author, day)
) STRICT, WITHOUT ROWID;
