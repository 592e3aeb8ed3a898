PRAGMA application_id = 1836018802; PRAGMA user_version = 6;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE conversations (
  num                INTEGER PRIMARY KEY,
  owner              TEXT    NOT NULL,
  id                 TEXT    NOT NULL,
  title              TEXT    NOT NULL DEFAULT '',
  summary            TEXT    NOT NULL DEFAULT '',
  summary_updated_at INTEGER NOT NULL DEFAULT 0,
  -- The summary covers the messages up to this seq.
  covers             INTEGER NOT NULL DEFAULT 0,
  -- The seq of the last answer that was not cut short: above covers, there is
  -- something to summarise.
  complete_seq       INTEGER NOT NULL DEFAULT 0,
  claimed_until      INTEGER NOT NULL DEFAULT 0,
  language           TEXT    NOT NULL DEFAULT '',
  servers_read       TEXT    NOT NULL DEFAULT '[]',
  messages           INTEGER NOT NULL DEFAULT 0,
  -- Never goes down, so that a seq is never given twice, not even after a clear.
  last_seq           INTEGER NOT NULL DEFAULT 0,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  UNIQUE (id, owner)
) STRICT;
INSERT INTO conversations VALUES(1,'ann','chat_a','Tôi bị đau răng, phải làm sao?','Bệnh nhân bị đau răng.',1772366407000,2,4,0,'vi','["clock"]',6,6,1772366402000,1772366406000);
INSERT INTO conversations VALUES(2,'','by-hand','one',replace('By hand\n\nin two pieces','\n',char(10)),1772366412000,4,0,0,'','[]',4,4,1772366408000,1772366411000);
INSERT INTO conversations VALUES(3,'','cleared','after','',0,2,6,0,'vi','["clock"]',4,6,1772366414000,1772366421000);
INSERT INTO conversations VALUES(4,'bob','empty','','',0,0,0,0,'','[]',0,0,1772366422000,1772366422000);
INSERT INTO conversations VALUES(5,'bob','chat_a','bob asks','',0,0,2,0,'vi','["clock"]',2,2,1772366424000,1772366424000);
CREATE TABLE messages (
  conversation INTEGER NOT NULL REFERENCES conversations (num) ON DELETE CASCADE,
  seq          INTEGER NOT NULL,
  role         TEXT    NOT NULL,
  content      TEXT    NOT NULL,
  timestamp    INTEGER NOT NULL,
  turn_id      TEXT    NOT NULL DEFAULT '',
  status       TEXT    NOT NULL DEFAULT '',
  sources      TEXT    NOT NULL DEFAULT '',
  calls        TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (conversation, seq)
) STRICT;
INSERT INTO messages VALUES(1,1,'user','Tôi bị đau răng, phải làm sao?',1772366402000,'turn_a1','','','');
INSERT INTO messages VALUES(1,2,'assistant','Hãy đi khám sớm.',1772366402000,'turn_a1','','','');
INSERT INTO messages VALUES(1,3,'user','What time is it?',1772366404000,'turn_a2','','','');
INSERT INTO messages VALUES(1,4,'assistant','It is noon.',1772366404000,'turn_a2','','[{"title":"A guide","url":"https://guide.example/a"}]','[{"said":{"role":"assistant","parts":[{"kind":"call","call":{"id":"c1","function":{"name":"clock__now","arguments":"{}"}}}]},"results":[{"toolName":"now","output":"12:00","id":"c1","server":"clock"}]}]');
INSERT INTO messages VALUES(1,5,'user','And tomorrow?',1772366406000,'turn_a3','','','');
INSERT INTO messages VALUES(1,6,'assistant','It will',1772366406000,'turn_a3','interrupted','','');
INSERT INTO messages VALUES(2,1,'system','note',1772366408000,'','','','');
INSERT INTO messages VALUES(2,2,'user','one',1772366409000,'','','','');
INSERT INTO messages VALUES(2,3,'user','two',1772366410000,'','','','');
INSERT INTO messages VALUES(2,4,'assistant','both',1772366411000,'','','','');
INSERT INTO messages VALUES(3,3,'user','after',1772366419000,'turn_c2','','','');
INSERT INTO messages VALUES(3,4,'assistant','here',1772366419000,'turn_c2','','','');
INSERT INTO messages VALUES(3,5,'user','again',1772366421000,'turn_c3','','','');
INSERT INTO messages VALUES(3,6,'assistant','too',1772366421000,'turn_c3','','','');
INSERT INTO messages VALUES(5,1,'user','bob asks',1772366424000,'turn_b1','','','');
INSERT INTO messages VALUES(5,2,'assistant','bob is told',1772366424000,'turn_b1','','','');
CREATE TABLE turns (
  turn_id      TEXT    NOT NULL PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversations (num) ON DELETE CASCADE,
  key          TEXT    NOT NULL DEFAULT '',
  answer_seq   INTEGER NOT NULL,
  saved_at     INTEGER NOT NULL
) STRICT;
INSERT INTO turns VALUES('turn_a1',1,'key-a1',2,1772366402000);
INSERT INTO turns VALUES('turn_a2',1,'key-a2',4,1772366404000);
INSERT INTO turns VALUES('turn_a3',1,'turn_a3',6,1772366406000);
INSERT INTO turns VALUES('turn_c2',3,'',4,1772366419000);
INSERT INTO turns VALUES('turn_c3',3,'',6,1772366421000);
INSERT INTO turns VALUES('turn_b1',5,'key-a1',2,1772366424000);
CREATE TABLE leases (
  id      TEXT    NOT NULL,
  owner   TEXT    NOT NULL,
  token   TEXT    NOT NULL,
  fence   INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (id, owner)
) STRICT, WITHOUT ROWID;
INSERT INTO leases VALUES('chat_a','ann','TAXTWSQFOX75USMHQAQWQB4GXP',3,1772366465000);
INSERT INTO leases VALUES('chat_a','bob','2RY75XMFWKX3VQITFEC3XYEWQ5',2,1772366485000);
INSERT INTO leases VALUES('cleared','','WR2BGGEMCZ4CBUKPA4DAVHF5S6',2,1772366480000);
CREATE TABLE traces (
  turn_id         TEXT    NOT NULL PRIMARY KEY,
  created_at      INTEGER NOT NULL,
  owner           TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  size            INTEGER NOT NULL,
  body            TEXT    NOT NULL
) STRICT;
CREATE TABLE api_keys (
  id         TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  hash       TEXT    NOT NULL UNIQUE,
  -- A list with commas.
  scopes     TEXT    NOT NULL,
  session    INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  last_used  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE idempotency (
  owner           TEXT    NOT NULL,
  key             TEXT    NOT NULL,
  hash            TEXT    NOT NULL,
  turn_id         TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  state           TEXT    NOT NULL,
  outcome         TEXT    NOT NULL,
  PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE kept_turns (
  owner           TEXT    NOT NULL,
  call_id         TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  expires         INTEGER NOT NULL,
  state           TEXT    NOT NULL,
  PRIMARY KEY (owner, call_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE tool_switches (
  server TEXT NOT NULL,
  tool   TEXT NOT NULL,
  off_at INTEGER NOT NULL,
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
CREATE TABLE tool_pins (
  server    TEXT NOT NULL,
  tool      TEXT NOT NULL,
  digest    TEXT NOT NULL,
  pinned_at INTEGER NOT NULL,
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
CREATE TABLE logins (
  server      TEXT    NOT NULL PRIMARY KEY,
  -- Goes up at every change, also over a delete.
  revision    INTEGER NOT NULL,
  -- Until then one process alone renews the tokens.
  lease_until INTEGER NOT NULL DEFAULT 0,
  state       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE erasures (
  conversation_id TEXT    NOT NULL,
  owner           TEXT    NOT NULL,
  at              INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, owner)
) STRICT, WITHOUT ROWID;
INSERT INTO erasures VALUES('cleared','',1772366416000);
CREATE INDEX conversations_recent ON conversations (updated_at, num);
CREATE INDEX conversations_owner_recent ON conversations (owner, updated_at, num);
CREATE INDEX conversations_unsummarised ON conversations (updated_at) WHERE complete_seq > covers;
CREATE UNIQUE INDEX turns_key ON turns (conversation, key) WHERE key <> '';
CREATE INDEX turns_by_key ON turns (key, saved_at) WHERE key <> '';
CREATE INDEX turns_by_conversation ON turns (conversation);
CREATE INDEX traces_age ON traces (created_at, size);
CREATE INDEX traces_conversation ON traces (conversation_id, owner);
CREATE UNIQUE INDEX api_keys_name ON api_keys (name) WHERE session = 0;
CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE INDEX idempotency_conversation ON idempotency (conversation_id, owner);
CREATE INDEX kept_turns_age ON kept_turns (expires);
CREATE INDEX kept_turns_conversation ON kept_turns (conversation_id, owner);
CREATE INDEX erasures_age ON erasures (at);
COMMIT;
