-- Files beside questions, in parts, since messages between programs have their bounds. They go
-- with their message.
CREATE TABLE files (
  conversation BIGINT NOT NULL,
  seq          BIGINT NOT NULL,
  n            BIGINT NOT NULL,
  name         TEXT NOT NULL,
  media        TEXT NOT NULL,
  size         BIGINT NOT NULL,
  -- 0 until the last part came.
  whole        BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (conversation, seq, n),
  FOREIGN KEY (conversation, seq) REFERENCES messages (conversation, seq) ON DELETE CASCADE
);

CREATE TABLE file_parts (
  conversation BIGINT NOT NULL,
  seq          BIGINT NOT NULL,
  n            BIGINT NOT NULL,
  part         BIGINT NOT NULL,
  data         BYTEA NOT NULL,
  PRIMARY KEY (conversation, seq, n, part),
  FOREIGN KEY (conversation, seq, n) REFERENCES files (conversation, seq, n) ON DELETE CASCADE
);
