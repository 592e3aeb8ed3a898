-- What people allowed beyond one call; without a conversation in each of theirs.
CREATE TABLE grants (
  id              TEXT   NOT NULL PRIMARY KEY,
  owner           TEXT   NOT NULL,
  conversation_id TEXT   NOT NULL,
  subject         TEXT   NOT NULL,
  given_at        INTEGER NOT NULL,
  UNIQUE (owner, conversation_id, subject)
) STRICT, WITHOUT ROWID;
