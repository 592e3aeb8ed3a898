-- Events that a webhook has not taken yet.
CREATE TABLE webhook_events (
  id         TEXT   NOT NULL PRIMARY KEY,
  owner      TEXT   NOT NULL, -- whom it is about
  body       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  next_at    BIGINT NOT NULL  -- when it is tried next; later than now while a process sends it
);
CREATE INDEX webhook_events_next ON webhook_events (next_at);
