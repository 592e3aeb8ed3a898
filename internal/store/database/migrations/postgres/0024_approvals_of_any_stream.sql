-- An approval or question may belong to a turn that other replicas cannot follow. It names its
-- replica, which says every second that it is still pending; 0 where an earlier version asked.
ALTER TABLE live_approvals DROP CONSTRAINT live_approvals_turn_id_fkey;
ALTER TABLE live_approvals ADD COLUMN replica TEXT NOT NULL DEFAULT '';
ALTER TABLE live_approvals ADD COLUMN beat_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX live_approvals_replica ON live_approvals (replica);
