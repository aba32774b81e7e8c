-- The state of earlier builds, with the schemas 1 to 5, is not read: Open returns an error.
CREATE TABLE decisions (
	seq      INTEGER PRIMARY KEY,
	time     TEXT NOT NULL,
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
) STRICT;
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
CREATE TABLE bindings (
	session TEXT PRIMARY KEY,
	thread  TEXT NOT NULL,
	record  TEXT NOT NULL,
	action  TEXT NOT NULL,
	reason  TEXT NOT NULL,
	previous_thread TEXT NOT NULL,
	mode    TEXT NOT NULL,
	updated TEXT NOT NULL
) STRICT;
CREATE INDEX bindings_thread ON bindings (thread);
CREATE TABLE unreadable_bindings (
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
CREATE VIRTUAL TABLE transcript_words USING fts5 (text, thread, kind, content = 'transcript', content_rowid = 'seq', tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER transcript_inserted AFTER INSERT ON transcript BEGIN
	INSERT INTO transcript_words (rowid, text, thread, kind) VALUES (new.seq, new.text, new.thread, new.kind);
END;
CREATE TRIGGER transcript_deleted AFTER DELETE ON transcript BEGIN
	INSERT INTO transcript_words (transcript_words, rowid, text, thread, kind) VALUES ('delete', old.seq, old.text, old.thread, old.kind);
END;
