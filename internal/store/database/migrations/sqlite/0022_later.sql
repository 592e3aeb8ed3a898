-- How many complete answers have no summary yet and can wait for one: they are not behind.
ALTER TABLE conversations ADD COLUMN later INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversations_untitled ON conversations (claimed_until, updated_at) WHERE later > 0 AND titled = 0;
