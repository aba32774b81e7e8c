-- One row: the random id of this log in a fleet log.
CREATE TABLE chain (
	id TEXT NOT NULL
) STRICT;
INSERT INTO chain (id) VALUES (lower(hex(randomblob(16))));
-- The head that each fleet log has acknowledged, and the last error since.
CREATE TABLE shipping (
	target       TEXT PRIMARY KEY,
	seq          INTEGER NOT NULL,
	hash         TEXT NOT NULL,
	acknowledged TEXT NOT NULL,
	error        TEXT NOT NULL,
	failed       TEXT NOT NULL
) STRICT;
