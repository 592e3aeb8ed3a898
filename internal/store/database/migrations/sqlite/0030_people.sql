-- Whose session it is, or for whom a key acts: a person's id, or empty.
ALTER TABLE api_keys ADD COLUMN owner     TEXT NOT NULL DEFAULT '';
-- The groups of a key itself, as a JSON list. Those of a person are in people.
ALTER TABLE api_keys ADD COLUMN member_of TEXT NOT NULL DEFAULT '[]';
-- The key with which a session was made, and with which it ends.
ALTER TABLE api_keys ADD COLUMN parent    TEXT NOT NULL DEFAULT '';

-- Who has signed in, as the identity provider said last.
CREATE TABLE people (
  owner      TEXT    NOT NULL PRIMARY KEY,
  issuer     TEXT    NOT NULL,
  subject    TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  email      TEXT    NOT NULL,
  member_of  TEXT    NOT NULL,
  first_seen INTEGER NOT NULL,
  last_seen  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Links that sign a browser in once, as a key. Only the hashes of their tokens are here.
CREATE TABLE sign_in_links (
  hash       TEXT    NOT NULL PRIMARY KEY,
  key_id     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
