-- Old leases are found without reading those that were released.
DELETE FROM leases WHERE expires = 0 AND NOT EXISTS (
  SELECT 1 FROM conversations c WHERE c.id = leases.id AND c.owner = leases.owner);
CREATE INDEX leases_expiry ON leases (expires) WHERE expires > 0;
