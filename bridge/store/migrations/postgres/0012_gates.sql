-- Whether the bridge asks about each command of a thread in Codex's place. Codex does not know that.
CREATE TABLE gates (
	thread TEXT PRIMARY KEY,
	gated  BOOLEAN NOT NULL
);
