-- Files beside questions, in parts, since messages between programs have their bounds. They go
-- with their message.
CREATE TABLE files (
  conversation INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  n            INTEGER NOT NULL,
  name         TEXT NOT NULL,
  media        TEXT NOT NULL,
  size         INTEGER NOT NULL,
  -- 0 until the last part came.
  whole        INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (conversation, seq, n),
  FOREIGN KEY (conversation, seq) REFERENCES messages (conversation, seq) ON DELETE CASCADE
);

CREATE TABLE file_parts (
  conversation INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  n            INTEGER NOT NULL,
  part         INTEGER NOT NULL,
  data         BLOB NOT NULL,
  PRIMARY KEY (conversation, seq, n, part),
  FOREIGN KEY (conversation, seq, n) REFERENCES files (conversation, seq, n) ON DELETE CASCADE
);
