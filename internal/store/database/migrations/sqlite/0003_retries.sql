-- What became of a turn with an Idempotency-Key.
CREATE TABLE idempotency (
  owner           TEXT    NOT NULL,
  key             TEXT    NOT NULL,
  hash            TEXT    NOT NULL,
  turn_id         TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  state           TEXT    NOT NULL,
  outcome         TEXT    NOT NULL,
  PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE INDEX idempotency_conversation ON idempotency (conversation_id, owner);

-- Turns that wait for the results of a client's own tools, by the id of each call.
CREATE TABLE kept_turns (
  owner           TEXT    NOT NULL,
  call_id         TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  expires         INTEGER NOT NULL,
  state           TEXT    NOT NULL,
  PRIMARY KEY (owner, call_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_turns_age ON kept_turns (expires);
CREATE INDEX kept_turns_conversation ON kept_turns (conversation_id, owner);
