-- The least schema that a program must know to run beside this one. A migration that takes away
-- what an earlier program needs raises it.
CREATE TABLE molar_schema (least INTEGER NOT NULL) STRICT;
INSERT INTO molar_schema VALUES (22);
