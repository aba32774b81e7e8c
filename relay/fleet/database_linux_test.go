package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
	"codex-bridge.example/relay/fleet"
)

// server is shared by the tests that do not kill it.
var server = sync.OnceValues(func() (*postgrestest.Server, error) {
	s, err := postgrestest.Start(postgrestest.Options{})
	if err == nil {
		cleanups = append(cleanups, s.Stop)
	}
	return s, err
})

// emptyDatabase returns the address of an empty database.
func emptyDatabase(t testing.TB) string {
	t.Helper()
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func openDatabase(t testing.TB, url string) *fleet.Database {
	t.Helper()
	d, err := fleet.NewDatabase(url, "fleet.url")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// newDatabase returns an empty fleet log.
func newDatabase(t testing.TB) (*fleet.Database, string) {
	t.Helper()
	url := emptyDatabase(t)
	d := openDatabase(t, url)
	if err := d.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, url
}

// sql runs statements in a database.
func sql(t testing.TB, url, statements string) error {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	_, err = c.Exec(t.Context(), statements)
	return err
}

func mustSQL(t testing.TB, url, statements string) {
	t.Helper()
	if err := sql(t, url, statements); err != nil {
		t.Fatal(err)
	}
}

// count returns a number that a query has.
func count(t testing.TB, url, query string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if err := c.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func readAll(t testing.TB, d *fleet.Database) []fleet.Entry {
	t.Helper()
	var all []fleet.Entry
	for e, err := range d.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// has reports whether the fleet log has exactly the entries of these logs.
func has(t testing.TB, d *fleet.Database, logs ...*localLog) bool {
	t.Helper()
	chains := make(map[string][]store.Sealed)
	for _, l := range logs {
		if len(l.entries) > 0 {
			chains[l.chain] = l.entries
		}
	}
	return slices.EqualFunc(entriesOf(chains), readAll(t, d), func(a, b fleet.Entry) bool {
		return a.Chain == b.Chain && a.Head == b.Head && string(a.Content) == string(b.Content)
	})
}

func TestDatabaseKeepsEachDecisionOnce(t *testing.T) {
	d, _ := newDatabase(t)
	one, other := newLocalLog(), newLocalLog()
	for i := range 1100 {
		one.add(fmt.Sprint("é \"", i))
	}
	other.add("a", "b")
	for range 2 {
		for _, l := range []*localLog{one, other} {
			if _, err := fleet.Ship(t.Context(), l, d, sender, true); err != nil {
				t.Fatal(err)
			}
			clear(l.shipping) // sends all again
		}
	}
	if !has(t, d, one, other) {
		t.Error("the fleet log differs")
	}
	c, err := fleet.Verify(d.Entries(t.Context()), nil)
	if err != nil || c.Decisions != 1102 || c.Chains != 2 {
		t.Fatal(c, err)
	}
	heads, err := fleet.NewCheckpoint(d.Heads(t.Context()))
	if err != nil || heads.Root != c.Root || heads.Decisions != 1102 {
		t.Error(heads, err)
	}
	if err := d.Create(t.Context()); err != nil {
		t.Errorf("a second Create returned %v", err)
	}
}

// The database finds what an export does, with the machine and account of the chain.
func TestFindInTheDatabase(t *testing.T) {
	d, _ := newDatabase(t)
	for chain, all := range decisions() {
		if _, err := d.Send(t.Context(), fleet.Batch{Chain: chain, Sender: fleet.Sender{Host: "laptop", User: "ada"}, After: decision.NoHead, Entries: all}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range filters {
		checkFound(t, test.filter, test.count, d.Find(t.Context(), test.filter))
	}
	for f, err := range d.Find(t.Context(), store.Filter{}) {
		if err != nil || f.Machine() != "ada@laptop" {
			t.Errorf("%q, %v", f.Machine(), err)
		}
	}
}

// The database itself refuses what does not continue a chain, from any client.
func TestDatabaseRefusesOtherEntries(t *testing.T) {
	d, url := newDatabase(t)
	log := newLocalLog()
	log.add("1", "2", "3", "4")
	if _, err := ship(t, log, d); err != nil {
		t.Fatal(err)
	}
	forged := func(after []store.Sealed, reasons ...string) []store.Sealed {
		all := slices.Clone(after)
		for _, reason := range reasons {
			all = append(all, seal(all, reason))
		}
		return all[len(after):]
	}
	changed := forged(log.entries, "5")
	changed[0].Hash = decision.Sum(nil)
	numbered := forged(log.entries, "5", "6")[1:]
	for name, tt := range map[string]struct {
		chain   string
		after   int64
		entries []store.Sealed
		text    string
	}{
		"another decision":        {log.chain, 3, forged(log.entries[:3], "other"), "decision 4 is there with another hash"},
		"another continuation":    {log.chain, 4, forged(forged(log.entries[:3], "x", "y"), "other")[:1], "does not match its hash or number"},
		"another previous":        {log.chain, 4, forged(append(slices.Clone(log.entries[:3]), forged(log.entries[:3], "x")...), "other"), "decision 5 does not follow decision 4"},
		"a first one":             {log.chain, 0, forged(nil, "other"), "decision 1 is there with another hash"},
		"a wrong hash":            {log.chain, 4, changed, "does not match its hash or number"},
		"a wrong number":          {log.chain, 4, numbered, "does not match its hash or number"},
		"one of a batch":          {log.chain, 4, append(forged(log.entries, "5"), changed...), "does not match its hash or number"},
		"no chain":                {"x", 0, forged(nil, "x"), "the batch is malformed"},
		"a chain without a start": {chainA, 0, log.entries[1:2], "does not match its hash or number"},
	} {
		_, err := d.Send(t.Context(), fleet.Batch{Chain: tt.chain, After: decision.Head{Seq: tt.after}, Entries: tt.entries})
		if err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if head, err := d.Send(t.Context(), fleet.Batch{Chain: log.chain, After: decision.Head{Seq: 7}, Entries: forged(log.entries, "x")}); err != nil || head != log.entries[3].Head {
		t.Errorf("after a gap: %v, %v", head, err)
	}
	if !has(t, d, log) {
		t.Error("the fleet log has changed")
	}
	if n := count(t, url, `SELECT count(*) FROM fleet_chains`); n != 1 {
		t.Errorf("%d chains", n)
	}
}

// A role of bridges can append, and neither read nor change anything. One of auditors can read.
func TestRoles(t *testing.T) {
	owner, url := newDatabase(t)
	mustSQL(t, url, `DROP ROLE IF EXISTS bridges; DROP ROLE IF EXISTS auditors; DROP ROLE IF EXISTS others;
		CREATE ROLE bridges LOGIN; CREATE ROLE auditors LOGIN; CREATE ROLE others LOGIN;
		GRANT EXECUTE ON FUNCTION fleet_append TO bridges;
		GRANT SELECT ON fleet_log, fleet_chains, fleet_decisions TO auditors`)
	as := func(role string) string { return strings.Replace(url, "bridge@", role+"@", 1) }
	log := newLocalLog()
	for i := range 600 {
		log.add(fmt.Sprint(i))
	}
	bridge := openDatabase(t, as("bridges"))
	if _, err := ship(t, log, bridge); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`SELECT * FROM fleet_decisions`, `SELECT * FROM fleet_chains`, `SELECT * FROM fleet_log`, `DELETE FROM fleet_decisions`, `UPDATE fleet_decisions SET seq = 1`, `TRUNCATE fleet_decisions CASCADE`,
		`INSERT INTO fleet_chains (chain, host, account) VALUES ('x', 'x', 'x')`, `DROP FUNCTION fleet_append`,
	} {
		if err := sql(t, as("bridges"), statement); err == nil || !strings.Contains(err.Error(), "permission denied") && !strings.Contains(err.Error(), "must be owner") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, err := range bridge.Entries(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("a bridge reads entries: %v", err)
		}
	}
	other := newLocalLog()
	other.add("x")
	if _, err := ship(t, other, openDatabase(t, as("others"))); err == nil || !strings.Contains(err.Error(), "permission denied for function fleet_append") {
		t.Errorf("a role without the right: %v", err)
	}
	// A table of the same name in the schema of temporary tables does not take the place of the real one.
	c, err := pgx.Connect(t.Context(), as("bridges"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if _, err := c.Exec(t.Context(), `CREATE TEMP TABLE fleet_decisions (chain TEXT, seq BIGINT, hash TEXT, content TEXT)`); err != nil {
		t.Fatal(err)
	}
	first := seal(nil, "with a temporary table")
	if _, err := c.Exec(t.Context(), `SELECT fleet_append($1, '', '', 1, $2, $3)`, chainA, []string{first.Hash}, []string{string(first.Content)}); err != nil {
		t.Fatal(err)
	}
	temporary := &localLog{chain: chainA, entries: []store.Sealed{first}}
	auditor := openDatabase(t, as("auditors"))
	if !has(t, auditor, log, temporary) || !has(t, owner, log, temporary) {
		t.Error("the fleet log differs")
	}
	if n := count(t, as("auditors"), `SELECT count(*) FROM fleet_log WHERE verdict = 'deny' AND host = 'host' AND account = 'user' AND time > '2026-02-01' AND received > now() - interval '1 hour' AND method = 'turn/start' AND client = 'zed'`); n != 600 {
		t.Errorf("the view has %d decisions", n)
	}
}

// Bridges of one chain that send at once, as after a copy of a state, add each decision once.
func TestDatabaseSendsAtOnce(t *testing.T) {
	d, url := newDatabase(t)
	log := newLocalLog()
	for i := range 300 {
		log.add(fmt.Sprint(i))
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			one := openDatabase(t, url)
			copied := &localLog{chain: log.chain, entries: log.entries, shipping: make(map[string]store.Shipping), added: log.added}
			for start := 0; start < 300; start += 10 + i {
				after := decision.NoHead
				if start > 0 {
					after = log.entries[start-1].Head
				}
				if _, err := one.Send(t.Context(), fleet.Batch{Chain: log.chain, After: after, Entries: log.entries[start:min(start+10+i, 300)]}); err != nil {
					t.Error(err)
				}
			}
			if _, err := fleet.Ship(t.Context(), copied, one, sender, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if !has(t, d, log) {
		t.Error("the fleet log differs")
	}
}

func TestDatabaseErrors(t *testing.T) {
	url := emptyDatabase(t)
	d := openDatabase(t, url)
	log := newLocalLog()
	log.add("x")
	_, err := ship(t, log, d)
	if !errors.Is(err, fleet.ErrNoFleetLog) || !strings.Contains(err.Error(), "decisions ship --create") {
		t.Errorf("without tables: %v", err)
	}
	for _, err := range d.Entries(t.Context()) {
		if !errors.Is(err, fleet.ErrNoFleetLog) {
			t.Errorf("without tables: %v", err)
		}
	}
	if _, err := fleet.NewDatabase("postgres://ada:hunter2@h:port/x", "fleet.url"); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "fleet.url is not an address") {
		t.Errorf("a wrong address: %v", err)
	}
	away := openDatabase(t, "postgres://ada:hunter2@127.0.0.1:1/db")
	if _, err := ship(t, log, away); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a server that is away: %v", err)
	}
	// Several fleet logs share a database, each in its own schema.
	mustSQL(t, url, "CREATE SCHEMA audit")
	own := openDatabase(t, url+"&search_path=audit")
	if err := own.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ship(t, log, own); err != nil || !has(t, own, log) {
		t.Error(err)
	}
	if own.Location() == d.Location() {
		t.Error("two fleet logs have one name")
	}
	if _, err := ship(t, log, d); !errors.Is(err, fleet.ErrNoFleetLog) {
		t.Errorf("the other schema: %v", err)
	}
}

// A commit that is acknowledged is on disk, whatever the server's default is.
func TestDatabaseSyncs(t *testing.T) {
	_, url := newDatabase(t)
	mustSQL(t, url, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$")
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var before, in string
	if err := tx.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&before); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT fleet_append($1, '', '', 1, '{}', '{}')", chainA); err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&in); err != nil || before != "off" || in != "on" {
		t.Errorf("synchronous_commit is %q, then %q, %v", before, in, err)
	}
}

// Random batches, some twice, with failures before and after the commit, restarts, losses of the fleet log's end
// and of acknowledgements: in the end each decision is there once.
func TestDatabaseLosesAndDoublesNothing(t *testing.T) {
	d, url := newDatabase(t)
	rapid.Check(t, func(rt *rapid.T) {
		mustSQL(t, url, "TRUNCATE fleet_decisions, fleet_chains")
		logs := []*localLog{newLocalLog(), newLocalLog()}
		sink := &flakySink{Sink: d, draw: func(label string) int { return rapid.IntRange(0, 3).Draw(rt, label) }}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			log := rapid.SampledFrom(logs).Draw(rt, "log")
			switch rapid.SampledFrom([]string{"add", "add", "ship", "ship", "forget", "lose"}).Draw(rt, "step") {
			case "add":
				for i := range rapid.SampledFrom([]int{1, 2, 3, 501}).Draw(rt, "decisions") {
					log.add(fmt.Sprint(i))
				}
			case "ship":
				_, _ = fleet.Ship(t.Context(), log, sink, sender, rapid.Bool().Draw(rt, "ask"))
			case "forget": // the bridge crashed before it noted an acknowledgement
				clear(log.shipping)
			case "lose": // the database was restored from a copy
				mustSQL(t, url, fmt.Sprintf("DELETE FROM fleet_decisions WHERE chain = '%s' AND seq > %d", log.chain, rapid.IntRange(0, 600).Draw(rt, "left")))
			}
			if _, err := fleet.Verify(d.Entries(t.Context()), nil); err != nil {
				rt.Fatal(err)
			}
		}
		for _, log := range logs {
			if _, err := fleet.Ship(t.Context(), log, d, sender, true); err != nil {
				rt.Fatal(err)
			}
			if len(log.entries) > 0 && log.shipping[d.Location()].Head != log.entries[len(log.entries)-1].Head {
				rt.Fatal("not all is acknowledged")
			}
		}
		if !has(t, d, logs...) {
			rt.Fatal("the fleet log differs")
		}
	})
}

// flakySink fails before or after the commit, or sends a batch twice.
type flakySink struct {
	fleet.Sink
	draw func(string) int
}

func (f *flakySink) Send(ctx context.Context, b fleet.Batch) (decision.Head, error) {
	switch f.draw("failure") {
	case 0:
		return decision.Head{}, errAway
	case 1:
		_, _ = f.Sink.Send(ctx, b)
		return decision.Head{}, errAway
	case 2:
		_, _ = f.Sink.Send(ctx, b)
	}
	return f.Sink.Send(ctx, b)
}
