-- What models and servers sent in a turn, as a compressed tape.
CREATE TABLE wires (
  turn_id         TEXT   NOT NULL PRIMARY KEY,
  owner           TEXT   NOT NULL,
  conversation_id TEXT   NOT NULL,
  created_at      BIGINT NOT NULL,
  expires         BIGINT NOT NULL,
  size            BIGINT NOT NULL,
  tape            BYTEA   NOT NULL
);

CREATE INDEX wires_age ON wires (created_at);
CREATE INDEX wires_conversation ON wires (conversation_id, owner);
