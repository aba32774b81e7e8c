CREATE TABLE grants (
	seq       BIGINT PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	digest    TEXT NOT NULL UNIQUE,
	workspace TEXT NOT NULL,
	tool      TEXT NOT NULL,
	what      TEXT NOT NULL,
	client    TEXT NOT NULL,
	thread    TEXT NOT NULL,
	created   TEXT COLLATE "C" NOT NULL,
	expires   TEXT COLLATE "C" NOT NULL
);
