-- Whether Codex alone would know the project of a thread. The bridge's own marks hide that.
ALTER TABLE gates ADD COLUMN known BOOLEAN NOT NULL DEFAULT FALSE;
