-- Keys that the host made for itself.
CREATE TABLE secrets (
  name  TEXT  NOT NULL PRIMARY KEY,
  value BYTEA NOT NULL
);
