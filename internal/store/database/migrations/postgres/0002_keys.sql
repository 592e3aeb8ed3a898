-- API keys and the sessions of signed-in browsers. Their texts are nowhere, only
-- SHA-256 hashes of them.

CREATE TABLE api_keys (
  id         TEXT   NOT NULL PRIMARY KEY,
  name       TEXT   NOT NULL,
  hash       TEXT   NOT NULL UNIQUE,
  -- A list with commas.
  scopes     TEXT   NOT NULL,
  session    BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL DEFAULT 0,
  last_used  BIGINT NOT NULL DEFAULT 0
);

CREATE UNIQUE INDEX api_keys_name ON api_keys (name) WHERE session = 0;
