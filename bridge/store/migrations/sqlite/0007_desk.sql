CREATE TABLE desk_requests (
	id      TEXT PRIMARY KEY,
	request TEXT NOT NULL,
	expires TEXT NOT NULL
) STRICT;
CREATE TABLE desk_answers (
	seq       INTEGER PRIMARY KEY,
	id        TEXT NOT NULL,
	decision  TEXT NOT NULL,
	signature TEXT NOT NULL
) STRICT;
