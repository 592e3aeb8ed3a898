-- The least schema that a program must know to run beside this one. A migration that takes away
-- what an earlier program needs raises it.
ALTER TABLE molar_schema ADD COLUMN least INTEGER NOT NULL DEFAULT 22;
