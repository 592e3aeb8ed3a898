-- What was used of a budget in a period, which is the time of its beginning.
CREATE TABLE budget_use (
  name   TEXT    NOT NULL,
  period BIGINT NOT NULL,
  tokens BIGINT NOT NULL DEFAULT 0,
  cost   BIGINT NOT NULL DEFAULT 0,
  warned BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (name, period)
);

-- What running calls have reserved. One whose process is gone expires.
CREATE TABLE budget_holds (
  id      TEXT    NOT NULL,
  name    TEXT    NOT NULL,
  period  BIGINT NOT NULL,
  tokens  BIGINT NOT NULL,
  cost    BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  PRIMARY KEY (name, period, id)
);

-- What model calls used, by day.
CREATE TABLE usage_days (
  day        TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  member_of  TEXT    NOT NULL, -- a JSON list of the owner's groups
  assistant  TEXT    NOT NULL,
  provider   TEXT    NOT NULL,
  model      TEXT    NOT NULL,
  prompt     BIGINT NOT NULL,
  cached     BIGINT NOT NULL,
  completion BIGINT NOT NULL,
  cost       BIGINT NOT NULL,
  calls      BIGINT NOT NULL,
  PRIMARY KEY (day, owner, member_of, assistant, provider, model)
);
CREATE INDEX usage_owner ON usage_days (owner, day);
