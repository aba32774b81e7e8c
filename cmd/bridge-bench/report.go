//go:build linux

package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"
)

// titles are the titles of the rows, each only where it changes.
func (b *bench) titles() []string {
	all := make([]string, len(b.rows))
	last := ""
	for i, r := range b.rows {
		if r.title != last {
			all[i], last = r.title, r.title
		}
	}
	return all
}

func (b *bench) terminal() string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s; %d rounds\n\n", machine(), b.rounds)
	fmt.Fprintln(w, "what\t\tmeasured\tgoal\t\t")
	for i, title := range b.titles() {
		r := b.rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", title, r.what, r.measured(), r.target(), r.verdict(), r.remark())
	}
	_ = w.Flush() // to the terminal
	return out.String()
}

// machine is where the numbers come from, in words that name nobody.
func machine() string {
	kernel := "of an unknown version"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel, _, _ = strings.Cut(unix.ByteSliceToString(u.Release[:]), "-")
	}
	return fmt.Sprintf("%d cores, %s, Linux %s, %s", runtime.NumCPU(), runtime.GOARCH, kernel, runtime.Version())
}

const preface = `
The proxy runs as a real process, with a policy in force, between a client that drains and a stand-in for codex that writes as fast as it can. The reference is cat in the same place: client, cat, stand-in, cat, client. In each round both run, one behind the other, and give one ratio; the table has the median of the rounds, and in brackets the smallest and the largest. Below 1 is better than cat. On another machine the times differ, and with another number of cores the ratios do, too.

Processor time is that of the proxy's own process, or of the cat that carries the load. Memory is the resident set; what lies in the system's pipes, 1 MiB at most in each of two, is not in it.
`

func (b *bench) markdown() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Benchmarks\n\nWritten by `make bench` (cmd/bridge-bench). Measured on %s; %d rounds.\n", machine(), b.rounds)
	if b.short {
		fmt.Fprintln(&out, "The loads were half of what the table says (-short).")
	}
	fmt.Fprintf(&out, "%s\n", preface)
	fmt.Fprintln(&out, "| what | | measured | goal | | |\n|---|---|---|---|---|---|")
	for i, title := range b.titles() {
		r := b.rows[i]
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n", title, r.what, r.measured(), r.target(), r.verdict(), r.remark())
	}
	fmt.Fprintln(&out, "\n## Goals that are missed")
	missed := 0
	for _, r := range b.rows {
		if r.free || r.met() {
			continue
		}
		missed++
		why := reasons[r.key]
		if why == "" {
			why = "Nobody has looked into it yet."
		}
		fmt.Fprintf(&out, "\n**%s: %s**: %s instead of %s. %s\n", r.title, r.what, r.withUnit(r.median()), r.target(), why)
	}
	if missed == 0 {
		fmt.Fprintln(&out, "\nNone, in this run.")
	}
	return out.Bytes()
}
