-- What a person has confirmed about a server: JSON, with the digest of each tool that it was
-- confirmed for.
CREATE TABLE server_marks (
  server       TEXT    NOT NULL PRIMARY KEY,
  marks        TEXT    NOT NULL,
  confirmed_at INTEGER NOT NULL
) STRICT;
