-- A day less than the shortest retention, because clocks differ.
DROP TRIGGER audit_is_kept;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at > unixepoch('now', '-29 days') * 1000
BEGIN SELECT RAISE(ABORT, 'the audit log is kept for at least 30 days'); END;
