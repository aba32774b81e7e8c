package store

// What a database is told of a record.
const (
	// A record that is there has its item's id, or was told again with its text.
	keepWhere = ` WHERE NOT EXISTS (SELECT 1 FROM transcript WHERE thread = $2 AND turn = $3 AND kind = $4 AND name = $6
		AND (item = $5 AND $5 <> '' OR $11 = 1 AND digest = $10))`
	keepNumber = `(SELECT coalesce(max(idx) + 1, 0) FROM transcript WHERE thread = $2 AND turn = $3 AND kind = $4)`

	sqliteKeep = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest)
		SELECT $1, $2, $3, $4, ` + keepNumber + `, $5, $6, $7, $8, $9, $10` + keepWhere

	postgresKeep = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest)
		SELECT $1::bigint, $2::text, $3::text, $4::text, ` + keepNumber + `, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text` + keepWhere
)
