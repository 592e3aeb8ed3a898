-- Logins at MCP servers. The state holds tokens in clear: they must be sent as they are.
CREATE TABLE logins (
  server      TEXT    NOT NULL PRIMARY KEY,
  -- Goes up at every change, also over a delete.
  revision    BIGINT NOT NULL,
  -- Until then one process alone renews the tokens.
  lease_until BIGINT NOT NULL DEFAULT 0,
  state       TEXT    NOT NULL
);
