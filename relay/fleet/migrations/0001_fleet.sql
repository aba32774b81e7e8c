-- Never change a step that was released.
CREATE TABLE fleet_chains (
	chain   TEXT COLLATE "C" PRIMARY KEY,
	host    TEXT NOT NULL,
	account TEXT NOT NULL,
	created TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE fleet_decisions (
	chain    TEXT COLLATE "C" NOT NULL REFERENCES fleet_chains,
	seq      BIGINT NOT NULL,
	hash     TEXT NOT NULL,
	content  TEXT NOT NULL, -- the canonical JSON that hash covers, without the member hash
	received TIMESTAMPTZ NOT NULL DEFAULT now(),
	PRIMARY KEY (chain, seq)
);
CREATE INDEX fleet_decisions_received ON fleet_decisions USING brin (received);

-- The decisions with their members as columns, to search. A member is what the chain of hashes covers: no column
-- can differ from it.
CREATE VIEW fleet_log AS
	SELECT d.chain, c.host, c.account, d.seq, d.received,
		CASE WHEN e.time >= '0001' THEN e.time::timestamptz END AS time,
		e.client, e.thread, e.turn, e.method, e.verdict, e.mode, e.rule, e.reason, e.origin, e.message, d.hash, d.content
	FROM fleet_decisions d JOIN fleet_chains c USING (chain)
	CROSS JOIN LATERAL jsonb_to_record(d.content::jsonb) AS e (time TEXT, client TEXT, thread TEXT, turn TEXT, method TEXT,
		verdict TEXT, mode TEXT, rule TEXT, reason TEXT, origin TEXT, message TEXT);

-- The function runs with the rights of its owner. Temporary tables of the caller come last, so that they do not
-- replace the real ones.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Appends the entries from the number first on, and returns the last entry that the chain has then. Entries that are
-- already there are compared. If the chain lacks entries before the first one, nothing is appended.
CREATE FUNCTION fleet_append(of_chain TEXT, of_host TEXT, of_account TEXT, first BIGINT, hashes TEXT[], contents TEXT[],
	OUT head_seq BIGINT, OUT head_hash TEXT)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	number BIGINT;
	there  TEXT;
	entry  JSONB;
BEGIN
	-- What is acknowledged is on disk, whatever the server's default is.
	PERFORM set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
	IF (of_chain ~ '^[0-9a-f]{32}$' AND first > 0 AND cardinality(hashes) = cardinality(contents)) IS NOT TRUE THEN
		RAISE EXCEPTION 'the batch is malformed' USING ERRCODE = 'FL002';
	END IF;
	-- Batches of one chain wait for each other. Each statement below sees what earlier ones have committed.
	PERFORM pg_advisory_xact_lock(hashtextextended(of_chain, 7163376010450423131));
	SELECT d.seq, d.hash INTO head_seq, head_hash FROM fleet_decisions d WHERE d.chain = of_chain ORDER BY d.seq DESC LIMIT 1;
	IF NOT FOUND THEN
		head_seq := 0;
		head_hash := repeat('0', 64);
	END IF;
	IF first > head_seq + 1 OR cardinality(hashes) = 0 THEN
		RETURN;
	END IF;
	IF head_seq = 0 THEN
		INSERT INTO fleet_chains (chain, host, account) VALUES (of_chain, left(of_host, 255), left(of_account, 255)) ON CONFLICT DO NOTHING;
	END IF;
	FOR i IN 1 .. cardinality(hashes) LOOP
		number := first + i - 1;
		IF number <= head_seq THEN
			SELECT d.hash INTO there FROM fleet_decisions d WHERE d.chain = of_chain AND d.seq = number;
			IF there IS DISTINCT FROM hashes[i] THEN
				RAISE EXCEPTION 'decision % is there with another hash', number USING ERRCODE = 'FL001';
			END IF;
			CONTINUE;
		END IF;
		entry := contents[i]::jsonb;
		IF encode(sha256(convert_to(contents[i], 'UTF8')), 'hex') IS DISTINCT FROM hashes[i] OR entry ->> 'seq' IS DISTINCT FROM number::text THEN
			RAISE EXCEPTION 'decision % does not match its hash or number', number USING ERRCODE = 'FL002';
		END IF;
		IF entry ->> 'previous' IS DISTINCT FROM head_hash THEN
			RAISE EXCEPTION 'decision % does not follow decision % of the chain', number, head_seq USING ERRCODE = 'FL001';
		END IF;
		INSERT INTO fleet_decisions (chain, seq, hash, content) VALUES (of_chain, number, hashes[i], contents[i]);
		head_seq := number;
		head_hash := hashes[i];
	END LOOP;
END
$$;
REVOKE ALL ON FUNCTION fleet_append FROM PUBLIC;
