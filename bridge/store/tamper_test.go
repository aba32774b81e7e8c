package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// decisionColumns are the columns of a decision.
var decisionColumns = []string{
	"seq", "time", "client", "thread", "turn", "method", "verdict", "mode", "rule", "reason", "origin", "fields", "message", "previous", "hash", "facts",
}

type tampering struct {
	name    string
	sql     string
	seq     int64
	problem decision.Problem
}

var zeroHash = strings.Repeat("0", 64)

func tamperings() []tampering {
	all := []tampering{
		{"a time of another zone", `UPDATE decisions SET time = '2026-03-01T12:00:00.000003+01:00' WHERE seq = 3`, 3, decision.Changed},
		{"the same time, longer", `UPDATE decisions SET time = '2026-03-01T11:00:00.0000030Z' WHERE seq = 3`, 3, decision.Changed},
		{"the same fields, spaced", `UPDATE decisions SET fields = '["a", "b"]' WHERE seq = 3`, 3, decision.Changed},
		{"no fields", `UPDATE decisions SET fields = 'null' WHERE seq = 3`, 3, decision.Changed},
		{"fields that are none", `UPDATE decisions SET fields = '' WHERE seq = 3`, 3, decision.Changed},
		{"the first", `UPDATE decisions SET verdict = 'pass' WHERE seq = 1`, 1, decision.Changed},
		{"the last", `UPDATE decisions SET verdict = 'pass' WHERE seq = 9`, 9, decision.Changed},
		{"two", `UPDATE decisions SET verdict = 'pass' WHERE seq IN (8, 5)`, 5, decision.Changed},
		{"the hash in capitals", `UPDATE decisions SET hash = upper(hash) WHERE seq = 9`, 9, decision.Changed},
		{"deleted first", `DELETE FROM decisions WHERE seq = 1`, 1, decision.Missing},
		{"deleted", `DELETE FROM decisions WHERE seq = 5`, 5, decision.Missing},
		{"deleted and closed up", `DELETE FROM decisions WHERE seq = 9; UPDATE decisions SET seq = 9 WHERE seq = 8; UPDATE decisions SET seq = 8 WHERE seq = 7;
			DELETE FROM decisions WHERE seq = 6; UPDATE decisions SET seq = 6 WHERE seq = 8; UPDATE decisions SET seq = 7 WHERE seq = 9`, 6, decision.OutOfOrder},
		{"swapped", `UPDATE decisions SET seq = -4 WHERE seq = 4; UPDATE decisions SET seq = 4 WHERE seq = 7; UPDATE decisions SET seq = 7 WHERE seq = -4`, 4, decision.OutOfOrder},
		{"swapped with the first", `UPDATE decisions SET seq = -1 WHERE seq = 1; UPDATE decisions SET seq = 1 WHERE seq = 2; UPDATE decisions SET seq = 2 WHERE seq = -1`, 1, decision.OutOfOrder},
		{"before the first", `UPDATE decisions SET seq = 0 WHERE seq = 9`, 0, decision.OutOfOrder},
		{"far before the first", `UPDATE decisions SET seq = -9223372036854775808 WHERE seq = 9`, -9223372036854775808, decision.OutOfOrder},
		{"far behind the last, and another", `UPDATE decisions SET seq = 9223372036854775807 WHERE seq = 9; UPDATE decisions SET turn = '' WHERE seq = 5`, 5, decision.Changed},
		{"far behind the last", `UPDATE decisions SET seq = 9223372036854775807 WHERE seq = 9`, 9, decision.Missing},
	}
	for _, column := range decisionColumns {
		value := "'x'"
		switch column {
		case "seq":
			continue // tested above
		case "time":
			value = "'2026-03-01T11:00:00.000004Z'"
		case "fields":
			value = `'["a","c"]'`
		case "previous", "hash", "message":
			value = "'" + decision.Sum([]byte("x")) + "'"
		}
		all = append(all, tampering{column, fmt.Sprintf("UPDATE decisions SET %s = %s WHERE seq = 5", column, value), 5, decision.Changed})
		if column != "time" && column != "fields" {
			all = append(all, tampering{"no " + column, fmt.Sprintf("UPDATE decisions SET %s = '' WHERE seq = 5", column), 5, decision.Changed})
		}
	}
	// An inserted row has the content of another, with each number that a real one could have.
	columnsBut := strings.Join(decisionColumns[1:], ", ")
	return append(all,
		tampering{"put in at the end", fmt.Sprintf("INSERT INTO decisions SELECT 10, %s FROM decisions WHERE seq = 9", columnsBut), 10, decision.OutOfOrder},
		tampering{"put in at the end, forged", fmt.Sprintf("INSERT INTO decisions SELECT 10, %s, hash, '%s', facts FROM decisions WHERE seq = 9",
			strings.Join(decisionColumns[1:13], ", "), decision.Sum(nil)), 10, decision.Changed},
		tampering{"put in", fmt.Sprintf(`UPDATE decisions SET seq = 10 WHERE seq = 9;
			INSERT INTO decisions SELECT 9, %s FROM decisions WHERE seq = 3`, columnsBut), 9, decision.OutOfOrder},
		tampering{"begun anew", fmt.Sprintf("UPDATE decisions SET previous = '%s' WHERE seq = 5", zeroHash), 5, decision.Changed},
	)
}

// Verify names the first wrong row after any change.
func TestVerifyTampered(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			s := open(t, b.fresh(t))
			for _, tt := range tamperings() {
				t.Run(tt.name, func(t *testing.T) {
					writeNine(t, s)
					if _, err := s.DB().ExecContext(t.Context(), tt.sql); err != nil {
						t.Fatal(err)
					}
					_, err := s.Verify(t.Context())
					var broken *decision.BrokenError
					if !errors.As(err, &broken) {
						t.Fatalf("Verify returned %v", err)
					}
					if broken.Seq != tt.seq || broken.Problem != tt.problem {
						t.Errorf("got %v, want decision %d %s", err, tt.seq, tt.problem)
					}
				})
			}
		})
	}
}

// writeNine deletes the log and writes nine decisions.
func writeNine(t testing.TB, s *store.Store) decision.Head {
	t.Helper()
	if _, err := s.DB().ExecContext(context.WithoutCancel(t.Context()), "DELETE FROM decisions"); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		d := testDecision()
		d.Time = noon.Truncate(time.Second).Add(3 * time.Microsecond)
		d.Thread, d.Fields = fmt.Sprint("T", i), []string{"a", "b"}
		if err := s.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	head, err := s.Verify(t.Context())
	if err != nil || head.Seq != 9 {
		t.Fatal(head, err)
	}
	return head
}

// A noted head shows changes that the chain can't show.
func TestCheckHead(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		if err := s.CheckHead(t.Context(), decision.Head{Hash: zeroHash}); err != nil {
			t.Errorf("the head of an empty log: %v", err)
		}
		noted := writeNine(t, s)
		check := func(name string, h decision.Head, want decision.Problem) {
			t.Helper()
			err := s.CheckHead(t.Context(), h)
			var broken *decision.BrokenError
			if want == "" && err != nil || want != "" && (!errors.As(err, &broken) || broken.Problem != want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		check("as it was", noted, "")
		check("without a number", decision.Head{Hash: noted.Hash}, "")
		check("with another number", decision.Head{Seq: 8, Hash: noted.Hash}, decision.OutOfOrder)
		check("another hash", decision.Head{Seq: 9, Hash: decision.Sum(nil)}, decision.Missing)
		if err := s.Append(t.Context(), testDecision()); err != nil {
			t.Fatal(err)
		}
		check("grown", noted, "")

		if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM decisions WHERE seq > 8"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Verify(t.Context()); err != nil {
			t.Errorf("Verify must accept a log without its end: %v", err)
		}
		check("cut off", noted, decision.Missing)
		writeNine(t, s)
		check("written anew in the same words", noted, "")
	})
}

func TestParseHead(t *testing.T) {
	hash := decision.Sum(nil)
	for _, tt := range []struct {
		text string
		want decision.Head
		ok   bool
	}{
		{hash, decision.Head{Hash: hash}, true},
		{hash + ":12", decision.Head{Seq: 12, Hash: hash}, true},
		{strings.ToUpper(hash) + ":12", decision.Head{Seq: 12, Hash: hash}, true},
		{decision.Head{Seq: 3, Hash: hash}.String(), decision.Head{Seq: 3, Hash: hash}, true},
		{"", decision.Head{}, false},
		{hash[:63], decision.Head{}, false},
		{hash + ":", decision.Head{}, false},
		{hash + ":-1", decision.Head{}, false},
		{hash + ":1:2", decision.Head{}, false},
		{strings.Repeat("g", 64), decision.Head{}, false},
	} {
		got, err := decision.ParseHead(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseHead(%q) = %v, %v", tt.text, got, err)
		}
	}
}
