-- Logins of people at MCP servers. The state is encrypted with a key that is not in the database.
CREATE TABLE person_logins (
  owner       TEXT    NOT NULL,
  server      TEXT    NOT NULL,
  -- Goes up at every change, also over a delete.
  revision    BIGINT NOT NULL,
  -- Until then one process alone renews the tokens.
  lease_until BIGINT NOT NULL DEFAULT 0,
  state       TEXT    NOT NULL,
  PRIMARY KEY (owner, server)
);
