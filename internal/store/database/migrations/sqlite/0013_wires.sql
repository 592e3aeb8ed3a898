-- What models and servers sent in a turn, as a compressed tape.
CREATE TABLE wires (
  turn_id         TEXT   NOT NULL PRIMARY KEY,
  owner           TEXT   NOT NULL,
  conversation_id TEXT   NOT NULL,
  created_at      INTEGER NOT NULL,
  expires         INTEGER NOT NULL,
  size            INTEGER NOT NULL,
  tape            BLOB   NOT NULL
) STRICT;

CREATE INDEX wires_age ON wires (created_at);
CREATE INDEX wires_conversation ON wires (conversation_id, owner);
