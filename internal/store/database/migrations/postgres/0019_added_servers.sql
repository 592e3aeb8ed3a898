-- MCP servers that the operator added while the host ran, by address. The settings hold
-- headers in clear: they must be sent as they are.
CREATE TABLE added_servers (
  name     TEXT NOT NULL PRIMARY KEY,
  settings TEXT NOT NULL,
  added_at BIGINT NOT NULL
);
