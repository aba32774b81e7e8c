package simulate_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
)

// BenchmarkCompare measures the comparison of the decisions of a database: of commands that repeat, of 5,000, and of
// commands that are all different. In its wide form it has a million.
func BenchmarkCompare(b *testing.B) {
	count := 20_000
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		count = 1_000_000
	}
	defer debug.SetGCPercent(debug.SetGCPercent(simulate.GCPercent)) // as policy simulate does
	current := compile(b, section(ruleLines, []string{"ask npm **"}))
	candidate := compile(b, section(append([]string{"deny git log **", "allow curl **"}, ruleLines[1:]...), []string{"ask npm **"}))
	for name, different := range map[string]int{"repeated": min(5000, count), "different": count} {
		b.Run(name, func(b *testing.B) {
			s, err := store.Open(b.Context(), store.Options{Folder: filepath.Join(b.TempDir(), "state")})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			source := rand.New(rand.NewPCG(1, 2))
			var calls []simulate.Record
			for i := range 5000 {
				calls = append(calls, call(b, current, i, "Bash", commands[source.IntN(len(commands))]+" && git log -"+numberMark))
			}
			fill(b, s.Location(), calls, count, different)
			for b.Loop() {
				begin := time.Now()
				r, err := simulate.Compare(simulate.Entries(s.Decisions(b.Context(), store.Filter{})), current, candidate, today)
				if err != nil || r.Recomputed != int64(count) || r.Looser+r.Tighter == 0 {
					b.Fatalf("%+v, %v", r, err)
				}
				b.ReportMetric(float64(count)/time.Since(begin).Seconds(), "decisions/s")
			}
		})
	}
}

// numberMark stands for a number in the commands of fill.
const numberMark = "4711"

// fill writes decisions with a number of different commands to a database in one transaction. Append would sync each.
func fill(b *testing.B, file string, calls []simulate.Record, count, different int) {
	b.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	insert, err := tx.PrepareContext(b.Context(), `INSERT INTO decisions (seq, time, client, thread, turn, method, verdict, mode, rule, reason, origin, fields, message, previous, hash, facts)
		VALUES ($1, '2026-03-01T11:00:00.000000Z', $2, $3, $4, $5, $6, $7, $8, $9, $10, '[]', '', $11, $11, $12)`)
	for i := 0; i < count && err == nil; i++ {
		d := calls[i%len(calls)].Entry.Record
		facts := strings.Replace(d.Facts, numberMark, fmt.Sprint(i%different), 1)
		_, err = insert.ExecContext(b.Context(), i+1, d.Client, d.Thread, fmt.Sprint(i), d.Method, d.Verdict, d.Mode, d.Rule, d.Reason, d.Origin, decision.Sum(nil), facts)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		b.Fatal(err)
	}
}
