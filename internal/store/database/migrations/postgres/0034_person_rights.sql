-- By which names the lines of the audit call people. A line is never changed: once the row of somebody
-- who was erased is gone, nothing says any more whose it is.
CREATE TABLE person_names (
  owner     TEXT NOT NULL PRIMARY KEY,
  pseudonym TEXT NOT NULL UNIQUE
);
