CREATE TABLE bindings (
	session TEXT COLLATE "C" PRIMARY KEY,
	thread  TEXT NOT NULL,
	record  TEXT NOT NULL,
	action  TEXT NOT NULL,
	reason  TEXT NOT NULL,
	before  TEXT NOT NULL,
	mode    TEXT NOT NULL,
	updated TEXT COLLATE "C" NOT NULL
);
CREATE INDEX bindings_thread ON bindings (thread);
CREATE TABLE bindings_aside (
	seq     BIGINT PRIMARY KEY,
	session TEXT NOT NULL,
	record  TEXT NOT NULL,
	moved   TEXT NOT NULL
);
CREATE TABLE leases (
	session TEXT COLLATE "C" PRIMARY KEY,
	host    TEXT NOT NULL,
	pid     BIGINT NOT NULL,
	started TEXT NOT NULL,
	taken   TEXT NOT NULL
);
