CREATE TABLE transcript (
	seq    BIGINT PRIMARY KEY,
	thread TEXT COLLATE "C" NOT NULL,
	turn   TEXT COLLATE "C" NOT NULL,
	kind   TEXT COLLATE "C" NOT NULL,
	idx    BIGINT NOT NULL,
	item   TEXT NOT NULL,
	name   TEXT NOT NULL,
	state  TEXT NOT NULL,
	time   TEXT COLLATE "C" NOT NULL,
	text   TEXT NOT NULL,
	digest TEXT NOT NULL,
	words  TSVECTOR NOT NULL,
	UNIQUE (thread, turn, kind, idx)
);
CREATE INDEX transcript_time ON transcript (time);
CREATE INDEX transcript_words ON transcript USING gin (words);
