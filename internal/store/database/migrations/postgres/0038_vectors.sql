-- Vectors of passages of the operator's documents, by the model that computed them and a hash of the text,
-- so that no restart, folder or replica computes one twice. data is a signed byte for each number.
CREATE TABLE vectors (
  model   TEXT NOT NULL,
  hash    TEXT NOT NULL,
  data    BYTEA NOT NULL,
  used_at BIGINT NOT NULL,
  PRIMARY KEY (model, hash)
);
CREATE INDEX vectors_used ON vectors (used_at);
