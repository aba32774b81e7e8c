CREATE TABLE decisions (
	seq      BIGINT PRIMARY KEY,
	time     TEXT COLLATE "C" NOT NULL,
	client   TEXT NOT NULL,
	thread   TEXT NOT NULL,
	turn     TEXT NOT NULL,
	method   TEXT NOT NULL,
	verdict  TEXT NOT NULL,
	mode     TEXT NOT NULL,
	rule     TEXT NOT NULL,
	reason   TEXT NOT NULL,
	origin   TEXT NOT NULL,
	fields   TEXT NOT NULL,
	message  TEXT NOT NULL,
	previous TEXT NOT NULL,
	hash     TEXT NOT NULL
);
