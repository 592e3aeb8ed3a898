-- How many turns each key or person may begin now, for all replicas.
CREATE TABLE live_rates (
  name   TEXT PRIMARY KEY,
  tokens DOUBLE PRECISION NOT NULL,
  at     BIGINT NOT NULL,
  -- What the last one who asked was told.
  passed BOOLEAN NOT NULL
);
