-- Tools that a model's service refused, as they were then.
CREATE TABLE tool_refusals (
  provider   TEXT NOT NULL,
  tool       TEXT NOT NULL,
  digest     TEXT NOT NULL,
  reason     TEXT NOT NULL,
  refused_at BIGINT NOT NULL,
  PRIMARY KEY (provider, tool)
);
