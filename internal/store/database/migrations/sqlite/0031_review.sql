-- What lists of turns show of a trace; '' in rows of before.
ALTER TABLE traces ADD COLUMN outcome   TEXT NOT NULL DEFAULT '';
ALTER TABLE traces ADD COLUMN assistant TEXT NOT NULL DEFAULT '';
ALTER TABLE traces ADD COLUMN question  TEXT NOT NULL DEFAULT ''; -- its beginning
ALTER TABLE traces ADD COLUMN tools     TEXT NOT NULL DEFAULT ''; -- those called, a JSON list
ALTER TABLE traces ADD COLUMN reason    TEXT NOT NULL DEFAULT ''; -- why the question was refused

CREATE INDEX traces_listed ON traces (created_at, turn_id, outcome);

-- What reviewers say of the answers of others, beside what the people themselves say of them.
CREATE TABLE reviews (
  turn_id         TEXT   NOT NULL PRIMARY KEY,
  owner           TEXT   NOT NULL, -- of the turn
  conversation_id TEXT   NOT NULL,
  assistant       TEXT   NOT NULL,
  mark            TEXT   NOT NULL,
  note            TEXT   NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX reviews_age ON reviews (created_at);
CREATE INDEX reviews_conversation ON reviews (conversation_id, owner);
