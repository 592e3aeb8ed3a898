-- Written by replicas on PostgreSQL alone. The tables are here too, so that what deletes a
-- conversation is the same.
-- Turns that any replica may follow, stop and decide about while they run, and a short time
-- after. A row that has ended is the fence: its replica may add nothing to it any more.
CREATE TABLE live_turns (
  id              TEXT    PRIMARY KEY,
  owner           TEXT    NOT NULL,
  assistant       TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  replica         TEXT    NOT NULL,
  began_at        INTEGER  NOT NULL,
  beat_at         INTEGER  NOT NULL,
  ended_at        INTEGER  NOT NULL DEFAULT 0,
  -- Ended by another replica, as its own was silent for too long.
  lost            INTEGER NOT NULL DEFAULT 0,
  -- Somebody wants it stopped.
  stop            INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX live_turns_running ON live_turns (beat_at) WHERE ended_at = 0;
CREATE INDEX live_turns_ended ON live_turns (ended_at) WHERE ended_at > 0;
CREATE INDEX live_turns_conversation ON live_turns (conversation_id, owner);

-- What was told, several items a row, numbered from 1.
CREATE TABLE live_events (
  turn_id TEXT   NOT NULL REFERENCES live_turns (id) ON DELETE CASCADE,
  first   INTEGER NOT NULL,
  last    INTEGER NOT NULL,
  body    TEXT   NOT NULL,
  PRIMARY KEY (turn_id, first)
) STRICT;

-- Calls that wait for a person; the decision of another replica, and what came of it.
CREATE TABLE live_approvals (
  id       TEXT PRIMARY KEY,
  turn_id  TEXT NOT NULL REFERENCES live_turns (id) ON DELETE CASCADE,
  owner    TEXT NOT NULL,
  body     TEXT NOT NULL,
  decision TEXT NOT NULL DEFAULT '',
  outcome  TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX live_approvals_turn ON live_approvals (turn_id);
CREATE INDEX live_approvals_owner ON live_approvals (owner);
