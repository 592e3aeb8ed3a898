-- The hash that a key had before its rotation, and until when it works.
ALTER TABLE api_keys ADD COLUMN previous       TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN previous_until BIGINT NOT NULL DEFAULT 0;
-- The hash of the key's text with which a session was made, and with which it ends.
ALTER TABLE api_keys ADD COLUMN made_with      TEXT NOT NULL DEFAULT '';
