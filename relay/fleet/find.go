package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// Found is an entry of a fleet log with the machine and the account that sent its chain. An export has neither.
type Found struct {
	Entry
	Host, Account string
}

// Machine returns the account and the host of the bridge, "ada@laptop"; "" if they are not known.
func (f *Found) Machine() string {
	if f.Host == "" && f.Account == "" {
		return ""
	}
	return f.Account + "@" + f.Host
}

// Line returns the entry as a line of an export, with the members account and host before the others if they are
// known.
func (f *Found) Line() []byte {
	line := f.Entry.Line()
	if f.Machine() == "" {
		return line
	}
	account, _ := json.Marshal(f.Account) // texts can be encoded
	host, _ := json.Marshal(f.Host)
	return append(fmt.Appendf(nil, `{"account":%s,"host":%s,`, account, host), line[1:]...)
}

// Find returns the entries that a filter selects, the newest last. It verifies nothing, and keeps at most twice as
// many entries in memory as the limit.
func Find(entries iter.Seq2[Entry, error], filter store.Filter) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		var all []timedEntry
		for e, err := range entries {
			if err != nil {
				yield(Found{}, err)
				return
			}
			d, err := e.Entry()
			if err != nil {
				yield(Found{}, fmt.Errorf("chain %s: %w", e.Chain, err))
				return
			}
			if !matches(filter, d.Record) {
				continue
			}
			if all = append(all, timedEntry{d.Time, e}); filter.Limit > 0 && len(all) >= 2*filter.Limit {
				all = newest(all, filter.Limit)
			}
		}
		for _, one := range newest(all, filter.Limit) {
			if !yield(Found{Entry: one.Entry}, nil) {
				return
			}
		}
	}
}

// matches reports whether a filter selects a decision.
func matches(f store.Filter, d decision.Record) bool {
	is := func(want, value string) bool { return want == "" || want == value }
	return !d.Time.Before(f.Since) && is(f.Thread, d.Thread) && is(f.Method, d.Method) && is(f.Verdict, d.Verdict)
}

type timedEntry struct {
	time time.Time
	Entry
}

// newest sorts the entries by time, and returns the last ones, at most limit; 0: all.
func newest(all []timedEntry, limit int) []timedEntry {
	slices.SortFunc(all, func(a, b timedEntry) int {
		return cmp.Or(a.time.Compare(b.time), strings.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
	})
	if limit > 0 && len(all) > limit {
		all = append(all[:0], all[len(all)-limit:]...)
	}
	return all
}

// Find returns the entries that a filter selects, the newest last. It verifies nothing.
func (d *Database) Find(ctx context.Context, filter store.Filter) iter.Seq2[Found, error] {
	text, args := `SELECT chain, seq, hash, content, host, account, time FROM fleet_log WHERE true`, []any(nil)
	add := func(condition string, value any) {
		args = append(args, value)
		text += fmt.Sprintf(" AND %s $%d", condition, len(args))
	}
	if !filter.Since.IsZero() {
		add("time >=", filter.Since)
	}
	for _, is := range [][2]string{{"thread =", filter.Thread}, {"method =", filter.Method}, {"verdict =", filter.Verdict}} {
		if is[1] != "" {
			add(is[0], is[1])
		}
	}
	text += " ORDER BY time DESC NULLS LAST, chain DESC, seq DESC"
	if filter.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", filter.Limit)
	}
	return query(ctx, d, `SELECT chain, seq, hash, content, host, account FROM (`+text+`) AS newest ORDER BY time NULLS FIRST, chain, seq`, func(f *Found) []any {
		return []any{&f.Chain, &f.Seq, &f.Hash, &f.Content, &f.Host, &f.Account}
	}, args...)
}
