-- The journal of every turn: one of this table that is not shared is deleted at its end.
ALTER TABLE live_turns ADD COLUMN shared BOOLEAN NOT NULL DEFAULT TRUE;
-- Another process continues it if its own is gone.
ALTER TABLE live_turns ADD COLUMN goes_on BOOLEAN NOT NULL DEFAULT FALSE;
-- How many processes have run the turn.
ALTER TABLE live_turns ADD COLUMN attempt BIGINT NOT NULL DEFAULT 1;
-- The question and its lease, once it has passed the guardrail; empty again once the turn of a dead
-- process is saved.
ALTER TABLE live_turns ADD COLUMN state TEXT NOT NULL DEFAULT '';

-- What the model said in each round with calls, numbered from 1.
CREATE TABLE live_rounds (
  turn_id TEXT    NOT NULL REFERENCES live_turns (id) ON DELETE CASCADE,
  n       BIGINT  NOT NULL,
  body    TEXT    NOT NULL,
  PRIMARY KEY (turn_id, n)
);
