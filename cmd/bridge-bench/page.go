//go:build linux

package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine describes the machine without identifying it.
func machine() string {
	kernel := "of an unknown version"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel, _, _ = strings.Cut(unix.ByteSliceToString(u.Release[:]), "-")
	}
	return fmt.Sprintf("%d cores, %s, Linux %s, %s", runtime.NumCPU(), runtime.GOARCH, kernel, runtime.Version())
}

const preface = `
The proxy is a real process with an effective policy, where a row names no other configuration. A stand-in for Codex writes as fast as it can, and a client drains. The reference is two ` + "`cat`" + ` processes in place of the proxy. Each round measures both and gives one ratio, so a value below 1× is better than ` + "`cat`" + `.

CPU is the processor time of the proxy, or of the ` + "`cat`" + ` that carries the load. Memory is the highest resident set less the idle one. Pipes are not in it. A row of a feature or peer shows elapsed time unless it names another value. A goal in bold is missed.
`

const featurePreface = `
**Features**: before the load the client starts a thread and a turn. The reference is the bridge without a configuration. The load "messages of turns" repeats two captured turns of Codex 0.169.0: 96 of 100 messages are deltas.

In the rows with one message each millisecond, look at the delay of a message. The whole time is mostly the wait between messages.
`

const peerPreface = `
**Peers** take the proxy's place. %s The others are Go programs in cmd/bridge-bench/peers. One copies bytes and parses no message. One uses encoding/json, two use JSON-RPC libraries. Those two lose members such as ` + "`emittedAtMs`" + `. jrpc2's client also reorders notifications: 724 of 20,000.
`

const growthPreface = `
**Growth**: the databases with up to ten million records are filled once and kept for later runs (` + "`make bench RECORDS=FOLDER`" + `). To fill them takes about an hour.
`

// page returns the report as Markdown.
func (b *bench) page() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Benchmarks\n\nWritten by `make bench` (cmd/bridge-bench). Measured on %s; %d rounds.\n", machine(), b.rounds)
	if b.only != "" {
		fmt.Fprintf(&out, "Only a part was measured (-only %s).\n", b.only)
	}
	if b.short {
		fmt.Fprintln(&out, "The loads were a tenth of what the table says (-short).")
	}
	var tables bytes.Buffer
	b.table.Markdown(&tables, why)
	fmt.Fprint(&out, summary(medians(tables.String())), "\n## How it was measured\n", preface, featurePreface)
	if b.records != "" {
		fmt.Fprint(&out, growthPreface)
	}
	if len(b.peers) > 0 {
		fmt.Fprintf(&out, peerPreface, b.aboutSocat())
	}
	fmt.Fprintln(&out)
	out.Write(tables.Bytes())
	return out.Bytes()
}
