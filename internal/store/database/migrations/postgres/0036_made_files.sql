-- The files that reviewers made of a person's turns. They keep the person's words, so an erasure of the
-- person names them. The row goes with the person, and not with the conversation.
CREATE TABLE made_files (
  turn_id  TEXT   NOT NULL,
  kind     TEXT   NOT NULL, -- test or correction
  path     TEXT   NOT NULL, -- '' if the reviewer got the text
  owner    TEXT   NOT NULL, -- of the turn
  made_at  BIGINT NOT NULL,
  PRIMARY KEY (turn_id, kind, path)
);

CREATE INDEX made_files_owner ON made_files (owner);
