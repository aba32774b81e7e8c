package store_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"

	"pgregory.net/rapid"
)

// Verify accepts exactly the prefixes of the original log. CheckHead with the noted head accepts
// only the whole log.
func TestVerifyAcceptsOnlyPrefixes(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		rapid.Check(t, func(t *rapid.T) { checkVerify(t, s) })
	})
}

func checkVerify(t *rapid.T, s *store.Store) {
	exec := func(query string, args ...any) {
		if _, err := s.DB().ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("DELETE FROM decisions")
	n := rapid.IntRange(1, 6).Draw(t, "decisions")
	for range n {
		if err := s.Append(t.Context(), randomDecision().Draw(t, "decision")); err != nil {
			t.Fatal(err)
		}
	}
	noted, err := s.Verify(t.Context())
	if err != nil || noted.Seq != int64(n) {
		t.Fatal(noted, err)
	}
	before := dump(t, s)
	seq := rapid.IntRange(0, n+1)
	for range rapid.IntRange(0, 3).Draw(t, "tamperings") {
		a, b := seq.Draw(t, "a"), seq.Draw(t, "b")
		column := rapid.SampledFrom(decisionColumns[1:]).Draw(t, "column")
		switch rapid.SampledFrom([]string{"copy", "text", "delete", "cut", "swap", "insert"}).Draw(t, "kind") {
		case "copy": // a value of another decision
			exec(fmt.Sprintf("UPDATE decisions SET %[1]s = (SELECT %[1]s FROM decisions WHERE seq = $1) WHERE seq = $2 AND EXISTS (SELECT 1 FROM decisions WHERE seq = $1)", column), a, b)
		case "text":
			exec(fmt.Sprintf("UPDATE decisions SET %s = $1 WHERE seq = $2", column), rapid.SampledFrom([]string{"", "[]", "[ ]", "x", zeroHash}).Draw(t, "text"), a)
		case "delete":
			exec("DELETE FROM decisions WHERE seq = $1", a)
		case "cut":
			exec("DELETE FROM decisions WHERE seq > $1", a)
		case "swap":
			exec("UPDATE decisions SET seq = -5 WHERE seq = $1", a)
			exec("UPDATE decisions SET seq = $1 WHERE seq = $2", a, b)
			exec("UPDATE decisions SET seq = $1 WHERE seq = -5", b)
		case "insert":
			exec(fmt.Sprintf("INSERT INTO decisions SELECT $1, %s FROM decisions WHERE seq = $2 AND NOT EXISTS (SELECT 1 FROM decisions WHERE seq = $1)",
				strings.Join(decisionColumns[1:], ", ")), a, b)
		}
	}
	after := dump(t, s)
	head, err := s.Verify(t.Context())
	if want := strings.HasPrefix(before, after); (err == nil) != want {
		t.Fatalf("Verify returned %v, want accepted: %t\nbefore:\n%s\nafter:\n%s", err, want, before, after)
	}
	if err != nil {
		return
	}
	if got := int64(strings.Count(after, "\n")); head.Seq != got {
		t.Errorf("head %v of %d decisions", head, got)
	}
	if err := s.CheckHead(t.Context(), noted); (err == nil) != (before == after) {
		t.Errorf("CheckHead returned %v\nbefore:\n%s\nafter:\n%s", err, before, after)
	}
}

// dump returns the table, one line per row.
func dump(t *rapid.T, s *store.Store) string {
	rows, err := s.DB().QueryContext(t.Context(), "SELECT "+strings.Join(decisionColumns, ", ")+" FROM decisions ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all strings.Builder
	for rows.Next() {
		values := make([]string, len(decisionColumns))
		targets := make([]any, len(decisionColumns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%q\n", values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
