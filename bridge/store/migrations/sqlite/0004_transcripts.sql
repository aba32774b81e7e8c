CREATE TABLE transcript (
	seq    INTEGER PRIMARY KEY,
	thread TEXT NOT NULL,
	turn   TEXT NOT NULL,
	kind   TEXT NOT NULL,
	idx    INTEGER NOT NULL,
	item   TEXT NOT NULL,
	name   TEXT NOT NULL,
	state  TEXT NOT NULL,
	time   TEXT NOT NULL,
	text   TEXT NOT NULL,
	digest TEXT NOT NULL,
	UNIQUE (thread, turn, kind, idx)
) STRICT;
CREATE INDEX transcript_time ON transcript (time);
CREATE VIRTUAL TABLE transcript_words USING fts5 (words, facets, content = '', contentless_delete = 1, tokenize = 'unicode61');
