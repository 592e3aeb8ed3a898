-- The record of who decided or changed what. Each line has a hash over itself and the hash of the
-- line before, so that a line that was changed or taken out is found.
CREATE TABLE audit (
  id          BIGINT  PRIMARY KEY,
  at          BIGINT  NOT NULL,
  person      TEXT    NOT NULL,
  event       TEXT    NOT NULL,
  origin      TEXT    NOT NULL,
  server      TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  how         TEXT    NOT NULL,
  scope       TEXT    NOT NULL,
  allowed     BOOLEAN, -- NULL where nothing was allowed or refused
  sha256      TEXT    NOT NULL,
  turn_id     TEXT    NOT NULL,
  call_id     TEXT    NOT NULL,
  detail      TEXT    NOT NULL,
  hash_before TEXT    NOT NULL,
  hash        TEXT    NOT NULL
);
CREATE INDEX audit_at ON audit (at);

-- Both ends of the record: the last line, and the line before the first one that is still kept.
-- drop_before is 0 but in the transaction that removes what is older than that. Whoever appends
-- locks the row, so that the lines of all replicas follow one another.
CREATE TABLE audit_ends (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  last        BIGINT  NOT NULL DEFAULT 0,
  last_hash   TEXT    NOT NULL DEFAULT '',
  gone        BIGINT  NOT NULL DEFAULT 0,
  gone_hash   TEXT    NOT NULL DEFAULT '',
  drop_before BIGINT  NOT NULL DEFAULT 0
);

CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    RAISE EXCEPTION 'lines of the audit are never changed';
  END IF;
  IF OLD.at >= (SELECT drop_before FROM audit_ends) THEN
    RAISE EXCEPTION 'lines of the audit are kept until they are older than audit.retention';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();

-- Standing approvals of a tool and its destination. Those of before named too little of it, and are
-- dropped; the last release goes on with its own table.
DELETE FROM grants;
CREATE TABLE standing_grants (
  id              TEXT    NOT NULL PRIMARY KEY,
  owner           TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL, -- "" for all
  tool            TEXT    NOT NULL,
  origin          TEXT    NOT NULL,
  width           TEXT    NOT NULL,
  arguments       TEXT    NOT NULL,
  digest          TEXT    NOT NULL, -- of what is granted
  given_at        BIGINT  NOT NULL,
  UNIQUE (owner, conversation_id, digest)
);

-- From where the texts came that had been read when an answer was made, by a keyed hash of the answer.
CREATE TABLE answers (
  owner   TEXT    NOT NULL,
  hash    TEXT    NOT NULL,
  origins TEXT    NOT NULL, -- a JSON list
  expires BIGINT  NOT NULL,
  PRIMARY KEY (owner, hash)
);
CREATE INDEX answers_expires ON answers (expires);
