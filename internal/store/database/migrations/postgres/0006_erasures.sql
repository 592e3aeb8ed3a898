-- Conversations that were cleared or deleted of late: the trace of a turn that ran at
-- the time is not stored. An empty owner stands for all of that id.
CREATE TABLE erasures (
  conversation_id TEXT   NOT NULL,
  owner           TEXT   NOT NULL,
  at              BIGINT NOT NULL,
  PRIMARY KEY (conversation_id, owner)
);

CREATE INDEX erasures_age ON erasures (at);
