-- Messages form a tree, turns have a state, and summaries are kept by exchange.

DROP INDEX turns_by_conversation;
CREATE INDEX turns_by_conversation ON turns (conversation, answer_seq);
DROP INDEX turns_by_key;
CREATE INDEX turns_by_key ON turns (key) WHERE key <> '';

-- The seq of the message before this one on its branch. There is none of that seq before
-- the first message of a branch.
ALTER TABLE messages ADD COLUMN parent INTEGER NOT NULL DEFAULT 0;
-- The turn before, on the question of a turn.
ALTER TABLE messages ADD COLUMN parent_turn TEXT NOT NULL DEFAULT '';
-- Who gave this answer.
ALTER TABLE messages ADD COLUMN assistant TEXT NOT NULL DEFAULT '';
-- The summary of the exchange that ends here; '' where a later text covers it. NULL means
-- that there is none yet.
ALTER TABLE messages ADD COLUMN piece TEXT;
-- A text that stands for all from the first message of the branch up to this one.
ALTER TABLE messages ADD COLUMN condensed TEXT;

UPDATE messages SET parent = seq - 1;
UPDATE messages SET parent_turn = coalesce((SELECT t.turn_id FROM turns t
    WHERE t.conversation = messages.conversation AND t.answer_seq < messages.seq
    ORDER BY t.answer_seq DESC LIMIT 1), '')
  WHERE turn_id <> '' AND role = 'user';
UPDATE messages SET piece = '' WHERE role = 'assistant' AND seq <= (SELECT covers FROM conversations WHERE num = conversation);
UPDATE messages SET condensed = (SELECT summary FROM conversations WHERE num = conversation)
  WHERE seq = (SELECT covers FROM conversations WHERE num = conversation);

ALTER TABLE turns ADD COLUMN user_seq INTEGER NOT NULL DEFAULT 0;
-- 'running', '' when it is done, or 'interrupted'. One that was never saved has 0 as its
-- saved_at, and what its process left behind is in its messages.
ALTER TABLE turns ADD COLUMN status TEXT NOT NULL DEFAULT '';
-- The conversation's last question that stands alone, after this turn.
ALTER TABLE turns ADD COLUMN subject TEXT NOT NULL DEFAULT '';
-- The compaction that the prompt of this turn began with; 0 means none.
ALTER TABLE turns ADD COLUMN compaction_seq INTEGER NOT NULL DEFAULT 0;

UPDATE turns SET user_seq = answer_seq - 1, status = coalesce((SELECT m.status FROM messages m
  WHERE m.conversation = turns.conversation AND m.seq = turns.answer_seq), '');
CREATE INDEX turns_running ON turns (conversation) WHERE status = 'running';

-- A text that stands in prompts for all of a branch up to a message.
CREATE TABLE compactions (
  conversation INTEGER NOT NULL REFERENCES conversations (num) ON DELETE CASCADE,
  seq          INTEGER NOT NULL,
  text         TEXT    NOT NULL,
  PRIMARY KEY (conversation, seq)
) STRICT;

-- The last message and the last turn of the newest branch; summary and covers are those of
-- that branch.
ALTER TABLE conversations ADD COLUMN head INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN tip TEXT NOT NULL DEFAULT '';
-- What head and tip were before they moved last.
ALTER TABLE conversations ADD COLUMN head_before INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN tip_before TEXT NOT NULL DEFAULT '';
-- 1 while there is one branch alone: then the seqs are the order of the messages.
ALTER TABLE conversations ADD COLUMN linear INTEGER NOT NULL DEFAULT 1;
-- Who was asked in the newest turn.
ALTER TABLE conversations ADD COLUMN assistant TEXT NOT NULL DEFAULT '';
-- How many finished turns await their summary.
ALTER TABLE conversations ADD COLUMN behind INTEGER NOT NULL DEFAULT 0;

UPDATE conversations SET
  head = CASE WHEN messages = 0 THEN 0 ELSE last_seq END,
  tip = coalesce((SELECT t.turn_id FROM turns t WHERE t.conversation = num ORDER BY t.answer_seq DESC LIMIT 1), ''),
  behind = (SELECT count(*) FROM turns t JOIN messages m ON m.conversation = t.conversation AND m.seq = t.answer_seq
    WHERE t.conversation = num AND t.status = '' AND m.piece IS NULL);

DROP INDEX conversations_unsummarised;
ALTER TABLE conversations DROP COLUMN complete_seq;
CREATE INDEX conversations_behind ON conversations (updated_at) WHERE behind > 0;

-- The turn that was recorded under the lease, and the message after which it goes on; NULL
-- means the newest branch. Leases of earlier versions were not given back.
ALTER TABLE leases ADD COLUMN turn_id TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN parent INTEGER;
UPDATE leases SET expires = 0;
