-- Which summaries are behind, and by how much, is asked after each answer: the index says it
-- without a look at the conversations.
DROP INDEX conversations_behind;
CREATE INDEX conversations_behind ON conversations (behind, claimed_until, updated_at) WHERE behind > 0;
