CREATE TABLE grants (
	seq       INTEGER PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	digest    TEXT NOT NULL UNIQUE,
	workspace TEXT NOT NULL,
	tool      TEXT NOT NULL,
	what      TEXT NOT NULL,
	client    TEXT NOT NULL,
	thread    TEXT NOT NULL,
	created   TEXT NOT NULL,
	expires   TEXT NOT NULL
) STRICT;
