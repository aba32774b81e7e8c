-- A folder whose project Codex alone would know by the thread. The bridge's own marks hide that.
ALTER TABLE gates ADD COLUMN known TEXT NOT NULL DEFAULT '';
