-- The state of earlier builds, with the schemas 1 to 5, is not read: Open returns an error.
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
CREATE TABLE bindings (
	session TEXT COLLATE "C" PRIMARY KEY,
	thread  TEXT NOT NULL,
	record  TEXT NOT NULL,
	action  TEXT NOT NULL,
	reason  TEXT NOT NULL,
	previous_thread TEXT NOT NULL,
	mode    TEXT NOT NULL,
	updated TEXT COLLATE "C" NOT NULL
);
CREATE INDEX bindings_thread ON bindings (thread);
CREATE TABLE unreadable_bindings (
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
	-- Without punctuation: PostgreSQL reads "rpc/pump.go" as one word. Cut: PostgreSQL indexes at most 1 MiB.
	words  TSVECTOR GENERATED ALWAYS AS (to_tsvector('simple'::regconfig,
		regexp_replace(left(text, 200000), '[!-/:-@\[-`{-~]+', ' ', 'g'))) STORED,
	UNIQUE (thread, turn, kind, idx)
);
CREATE INDEX transcript_time ON transcript (time);
CREATE INDEX transcript_words ON transcript USING gin (words);
