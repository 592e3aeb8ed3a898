-- What was used of a budget in a period, which is the time of its beginning.
CREATE TABLE budget_use (
  name   TEXT    NOT NULL,
  period INTEGER NOT NULL,
  tokens INTEGER NOT NULL DEFAULT 0,
  cost   INTEGER NOT NULL DEFAULT 0,
  warned INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (name, period)
) STRICT;

-- What running calls have reserved. One whose process is gone expires.
CREATE TABLE budget_holds (
  id      TEXT    NOT NULL,
  name    TEXT    NOT NULL,
  period  INTEGER NOT NULL,
  tokens  INTEGER NOT NULL,
  cost    INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (name, period, id)
) STRICT;

-- What model calls used, by day.
CREATE TABLE usage_days (
  day        TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  member_of  TEXT    NOT NULL, -- a JSON list of the owner's groups
  assistant  TEXT    NOT NULL,
  provider   TEXT    NOT NULL,
  model      TEXT    NOT NULL,
  prompt     INTEGER NOT NULL,
  cached     INTEGER NOT NULL,
  completion INTEGER NOT NULL,
  cost       INTEGER NOT NULL,
  calls      INTEGER NOT NULL,
  PRIMARY KEY (day, owner, member_of, assistant, provider, model)
) STRICT;
CREATE INDEX usage_owner ON usage_days (owner, day);
