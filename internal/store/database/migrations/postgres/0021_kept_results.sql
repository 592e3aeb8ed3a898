-- Whole texts of results of which a model was shown a part.
CREATE TABLE kept_results (
  owner           TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  id              TEXT NOT NULL,
  server          TEXT NOT NULL,
  created_at      BIGINT NOT NULL,
  size            BIGINT NOT NULL,
  data            BYTEA NOT NULL,
  PRIMARY KEY (owner, conversation_id, id)
);
CREATE INDEX kept_results_age ON kept_results (created_at, size);
CREATE INDEX kept_results_conversation ON kept_results (conversation_id, owner, created_at, size);
