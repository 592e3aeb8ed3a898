-- How many actions were counted under a name in the time that began with the first of them. A name
-- holds no address and nothing of a person: a hash at most.
CREATE TABLE visit_counts (
  name     TEXT    NOT NULL PRIMARY KEY,
  began_at INTEGER NOT NULL,
  per      INTEGER NOT NULL, -- how long that time is, in milliseconds
  count    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Requests of visitors to reach somebody at the desk. Of a conversation at most one is open.
CREATE TABLE handovers (
  id              TEXT    NOT NULL PRIMARY KEY,
  owner           TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  assistant       TEXT    NOT NULL,
  language        TEXT    NOT NULL,
  reason          TEXT    NOT NULL, -- why it was offered
  contact         TEXT    NOT NULL, -- what the person wrote into the form, as a JSON object
  state           TEXT    NOT NULL,
  callback        INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  changed_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX handovers_open ON handovers (conversation_id, owner) WHERE state <> 'closed';

-- Which webhook an event is for.
ALTER TABLE webhook_events ADD COLUMN hook TEXT NOT NULL DEFAULT 'approvals';

-- Erasures look for the rows of owners; those of these tables are long.
CREATE INDEX traces_owner ON traces (owner);
CREATE INDEX wires_owner ON wires (owner);
