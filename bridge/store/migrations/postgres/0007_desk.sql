CREATE TABLE desk_requests (
	id      TEXT PRIMARY KEY,
	request TEXT NOT NULL,
	expires TEXT COLLATE "C" NOT NULL
);
CREATE TABLE desk_answers (
	seq       BIGINT PRIMARY KEY,
	id        TEXT NOT NULL,
	decision  TEXT NOT NULL,
	signature TEXT NOT NULL
);
