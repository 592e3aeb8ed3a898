-- Times are milliseconds since 1970 in UTC. An empty text stands for "none".

CREATE TABLE conversations (
  num                INTEGER PRIMARY KEY,
  owner              TEXT    NOT NULL,
  id                 TEXT    NOT NULL,
  title              TEXT    NOT NULL DEFAULT '',
  summary            TEXT    NOT NULL DEFAULT '',
  summary_updated_at INTEGER NOT NULL DEFAULT 0,
  -- The summary covers the messages up to this seq.
  covers             INTEGER NOT NULL DEFAULT 0,
  -- The seq of the last answer that was not cut short: above covers, there is
  -- something to summarise.
  complete_seq       INTEGER NOT NULL DEFAULT 0,
  claimed_until      INTEGER NOT NULL DEFAULT 0,
  language           TEXT    NOT NULL DEFAULT '',
  servers_read       TEXT    NOT NULL DEFAULT '[]',
  messages           INTEGER NOT NULL DEFAULT 0,
  -- Never goes down, so that a seq is never given twice, not even after a clear.
  last_seq           INTEGER NOT NULL DEFAULT 0,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  UNIQUE (id, owner)
) STRICT;

CREATE INDEX conversations_recent ON conversations (updated_at, num);
CREATE INDEX conversations_owner_recent ON conversations (owner, updated_at, num);
CREATE INDEX conversations_unsummarised ON conversations (updated_at) WHERE complete_seq > covers;

CREATE TABLE messages (
  conversation INTEGER NOT NULL REFERENCES conversations (num) ON DELETE CASCADE,
  seq          INTEGER NOT NULL,
  role         TEXT    NOT NULL,
  content      TEXT    NOT NULL,
  timestamp    INTEGER NOT NULL,
  turn_id      TEXT    NOT NULL DEFAULT '',
  status       TEXT    NOT NULL DEFAULT '',
  sources      TEXT    NOT NULL DEFAULT '',
  calls        TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (conversation, seq)
) STRICT;

CREATE TABLE turns (
  turn_id      TEXT    NOT NULL PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversations (num) ON DELETE CASCADE,
  key          TEXT    NOT NULL DEFAULT '',
  answer_seq   INTEGER NOT NULL,
  saved_at     INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX turns_key ON turns (conversation, key) WHERE key <> '';
CREATE INDEX turns_by_key ON turns (key, saved_at) WHERE key <> '';
CREATE INDEX turns_by_conversation ON turns (conversation);

-- Leases stand apart from conversations: beginning a turn must not make a
-- conversation visible.
CREATE TABLE leases (
  id      TEXT    NOT NULL,
  owner   TEXT    NOT NULL,
  token   TEXT    NOT NULL,
  fence   INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (id, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE traces (
  turn_id         TEXT    NOT NULL PRIMARY KEY,
  created_at      INTEGER NOT NULL,
  owner           TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  size            INTEGER NOT NULL,
  body            TEXT    NOT NULL
) STRICT;

CREATE INDEX traces_age ON traces (created_at, size);
CREATE INDEX traces_conversation ON traces (conversation_id, owner);
