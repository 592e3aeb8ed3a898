-- API keys and the sessions of signed-in browsers. Their texts are nowhere, only
-- SHA-256 hashes of them.

CREATE TABLE api_keys (
  id         TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  hash       TEXT    NOT NULL UNIQUE,
  -- A list with commas.
  scopes     TEXT    NOT NULL,
  session    INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  last_used  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX api_keys_name ON api_keys (name) WHERE session = 0;
