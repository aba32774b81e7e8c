-- Roots that Codex alone would give the thread, as a JSON array. The bridge removes them from requests.
ALTER TABLE gates ADD COLUMN roots TEXT NOT NULL DEFAULT '';
