//go:build linux && amd64

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
)

// most is how far a count may be from the one on record, either way: what has become faster
// goes on record, too, or it could be lost again unseen.
const most = 0.05

// record is what a commit carries: the counts of its paths, and the compiler.
type record struct {
	Go    string           `json:"go"`
	Steps map[string]int64 `json:"steps"`
}

func readRecord(file string) (r record, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func (r record) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// compare says what is not as it is on record.
func (r record) compare(now record) error {
	all := maps.Clone(r.Steps)
	maps.Copy(all, now.Steps)
	var found []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, recorded := r.Steps[name]
		is, counted := now.Steps[name]
		switch by := change(was, is); {
		case !recorded:
			found = append(found, fmt.Errorf("%q is not on record", name))
		case !counted:
			found = append(found, fmt.Errorf("%q is on record, and there is no such path", name))
		case by > most:
			found = append(found, fmt.Errorf("%q takes %d steps, %+.1f %% of the %d on record", name, is, 100*by, was))
		case by < -most:
			found = append(found, fmt.Errorf("%q takes %d steps, %+.1f %% of the %d on record: keep it so", name, is, 100*by, was))
		}
	}
	if found == nil {
		return nil
	}
	return fmt.Errorf("%w\n`go run ./cmd/bridge-steps -where PATH` says where they are; mend it, or `make steps RECORD=1` and say why in the commit", errors.Join(found...))
}

// change is the part by which a count has grown.
func change(was, is int64) float64 { return float64(is-was) / float64(max(was, 1)) }

func table(out io.Writer, walks []walk, before, now record) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tsteps\ton record\tchange\tof one\t\n", now.Go)
	for _, p := range walks {
		is := now.Steps[p.name]
		was, by := "none", ""
		if n, ok := before.Steps[p.name]; ok {
			was, by = fmt.Sprint(n), fmt.Sprintf("%+.1f %%", 100*change(n, is))
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d %s\t\n", p.name, is, was, by, is/int64(p.units), p.unit)
	}
	return w.Flush()
}
