-- Which MCP revision a server was found to speak, so that it is asked once and not at each start.
-- place is a hash of where the server is; a server at another place is asked anew.
CREATE TABLE server_protocols (
  server   TEXT NOT NULL PRIMARY KEY,
  place    TEXT NOT NULL,
  revision TEXT NOT NULL,
  version  TEXT NOT NULL
) STRICT;
