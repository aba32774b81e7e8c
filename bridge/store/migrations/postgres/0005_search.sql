-- The column is made anew from the records: the one of version 4 had words of another tokenizer.
-- Without punctuation, since PostgreSQL takes "rpc/pump.go" for one word; cut, since it indexes at most 1 MiB.
ALTER TABLE transcript DROP COLUMN words;
ALTER TABLE transcript ADD COLUMN words TSVECTOR
	GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, regexp_replace(left(text, 200000), '[!-/:-@\[-`{-~]+', ' ', 'g'))) STORED;
CREATE INDEX transcript_words ON transcript USING gin (words);
