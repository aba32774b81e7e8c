-- The lowest number of the records of each hour. A search of the records since a time reads it in
-- place of all later records.
CREATE TABLE transcript_hours (
	hour  TEXT PRIMARY KEY,
	first INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO transcript_hours (hour, first) SELECT substr(time, 1, 13), min(seq) FROM transcript GROUP BY 1;
CREATE TRIGGER transcript_hour AFTER INSERT ON transcript BEGIN
	INSERT INTO transcript_hours (hour, first) VALUES (substr(new.time, 1, 13), new.seq)
		ON CONFLICT (hour) DO UPDATE SET first = excluded.first WHERE excluded.first < first;
END;
