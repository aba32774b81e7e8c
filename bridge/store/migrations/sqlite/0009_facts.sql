-- The inputs of a decision, as JSON, to compute it again under another policy. Empty in older entries.
ALTER TABLE decisions ADD COLUMN facts TEXT NOT NULL DEFAULT '';
