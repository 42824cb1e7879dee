-- Who may write into the log and onto the board. A key keeps its row when it is dismissed.
CREATE TABLE author (
    seq         INTEGER PRIMARY KEY, -- in the order of admission
    signs       BLOB NOT NULL UNIQUE, -- Ed25519 key, 32 bytes
    receives    BLOB NOT NULL,       -- X25519 key, 32 bytes
    name        TEXT NOT NULL,
    role        INTEGER NOT NULL,    -- 0 dismissed, 1 trustee, 2 observer, 3 requester
    idx         INTEGER NOT NULL,    -- of a trustee, from 1; else 0
    admitted_at INTEGER NOT NULL     -- nanoseconds since 1970
) STRICT;
CREATE UNIQUE INDEX author_name ON author (name) WHERE role > 0;
CREATE UNIQUE INDEX author_trustee ON author (idx) WHERE role = 1;

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
CREATE INDEX post_author ON post (topic, author);

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
