CREATE TABLE bindings (
	session TEXT PRIMARY KEY,
	thread  TEXT NOT NULL,
	record  TEXT NOT NULL,
	action  TEXT NOT NULL,
	reason  TEXT NOT NULL,
	before  TEXT NOT NULL,
	mode    TEXT NOT NULL,
	updated TEXT NOT NULL
) STRICT;
CREATE INDEX bindings_thread ON bindings (thread);
CREATE TABLE bindings_aside (
	seq     INTEGER PRIMARY KEY,
	session TEXT NOT NULL,
	record  TEXT NOT NULL,
	moved   TEXT NOT NULL
) STRICT;
CREATE TABLE leases (
	session TEXT PRIMARY KEY,
	host    TEXT NOT NULL,
	pid     INTEGER NOT NULL,
	started TEXT NOT NULL,
	taken   TEXT NOT NULL
) STRICT;
