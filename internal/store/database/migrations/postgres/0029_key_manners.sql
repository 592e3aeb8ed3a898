-- What the operator says about who is behind a key, as in the config file; empty for the default.
ALTER TABLE api_keys ADD COLUMN input  TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN system TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN ask    TEXT NOT NULL DEFAULT '';
