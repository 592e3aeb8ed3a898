-- Events that a webhook has not taken yet.
CREATE TABLE webhook_events (
  id         TEXT    NOT NULL PRIMARY KEY,
  owner      TEXT    NOT NULL, -- whom it is about
  body       TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  next_at    INTEGER NOT NULL  -- when it is tried next; later than now while a process sends it
) STRICT;
CREATE INDEX webhook_events_next ON webhook_events (next_at);
