-- What people decided about tools. A row in tool_switches means: off.
CREATE TABLE tool_switches (
  server TEXT NOT NULL,
  tool   TEXT NOT NULL,
  off_at INTEGER NOT NULL,
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;

-- The definitions of a pinned server's tools that are in use, each as a digest.
CREATE TABLE tool_pins (
  server    TEXT NOT NULL,
  tool      TEXT NOT NULL,
  digest    TEXT NOT NULL,
  pinned_at INTEGER NOT NULL,
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
