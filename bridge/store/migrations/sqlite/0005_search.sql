-- The index is made anew from the records: the one of version 4 had words of another tokenizer.
DROP TABLE transcript_words;
CREATE VIRTUAL TABLE transcript_words USING fts5 (text, thread, kind, content = 'transcript', content_rowid = 'seq', tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO transcript_words (transcript_words) VALUES ('rebuild');
CREATE TRIGGER transcript_inserted AFTER INSERT ON transcript BEGIN
	INSERT INTO transcript_words (rowid, text, thread, kind) VALUES (new.seq, new.text, new.thread, new.kind);
END;
CREATE TRIGGER transcript_deleted AFTER DELETE ON transcript BEGIN
	INSERT INTO transcript_words (transcript_words, rowid, text, thread, kind) VALUES ('delete', old.seq, old.text, old.thread, old.kind);
END;
