-- Keys that the host made for itself.
CREATE TABLE secrets (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
