-- Responses of the Responses API, with what they were asked with.
CREATE TABLE responses (
  owner           TEXT    NOT NULL,
  id              TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  body            TEXT    NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX responses_age ON responses (created_at);
CREATE INDEX responses_conversation ON responses (conversation_id, owner);
