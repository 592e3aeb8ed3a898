-- Written by replicas on PostgreSQL alone.
-- How many turns each key or person may begin now, for all replicas.
CREATE TABLE live_rates (
  name   TEXT PRIMARY KEY,
  tokens REAL NOT NULL,
  at     INTEGER NOT NULL,
  -- What the last one who asked was told.
  passed INTEGER NOT NULL
) STRICT;
