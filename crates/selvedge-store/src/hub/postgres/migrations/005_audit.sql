-- A day less than the shortest retention, because clocks and their changes differ.
DROP TRIGGER audit_is_kept ON audit;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit FOR EACH ROW
    WHEN (OLD.at > (extract(epoch FROM now() - interval '29 days') * 1000)::bigint)
    EXECUTE FUNCTION refuse('the audit log is kept for at least 30 days');

-- Tokens without an end had one in the far future.
UPDATE token SET expires_at = NULL WHERE expires_at - created_at >= 9000000000000000;
