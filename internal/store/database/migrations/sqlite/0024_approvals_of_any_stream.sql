-- SQLite has one process, which shares no approvals.
SELECT 1;
