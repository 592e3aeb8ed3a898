-- What people said of answers.
CREATE TABLE feedback (
  turn_id         TEXT   NOT NULL PRIMARY KEY,
  owner           TEXT   NOT NULL,
  conversation_id TEXT   NOT NULL,
  assistant       TEXT   NOT NULL,
  mark            TEXT   NOT NULL,
  note            TEXT   NOT NULL,
  created_at      BIGINT NOT NULL
);

CREATE INDEX feedback_age ON feedback (created_at);
CREATE INDEX feedback_conversation ON feedback (conversation_id, owner);
