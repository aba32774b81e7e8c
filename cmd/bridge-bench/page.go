//go:build linux

package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

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
The proxy runs as a real process, where a row says nothing else with a policy in force, between a client that drains and a stand-in for codex that writes as fast as it can. The reference is cat in the same place: client, cat, stand-in, cat, client. In each round both run, one behind the other, and give one ratio; the table has the median of the rounds, and in brackets the smallest and the largest. Below 1 is better than cat. On another machine the times differ, and with another number of cores the ratios do, too.

Processor time is that of the proxy's own process, or of the cat that carries the load. Memory is the resident set; what lies in the system's pipes, 1 MiB at most in each of two, is not in it.
`

const featurePreface = `
**Features.** The rows of features have a conversation before the load: a client starts a thread and a turn in it, and the stand-in echoes the thread and lists its hooks as Codex does, so that what is configured is in force. The reference is the same proxy without any configuration, in the same round. The goal is for what nobody wants: the load of the rows of pass-through. The load of turns is two that Codex 0.169.0 was seen to write (testdata/captures), each delta twenty times, with new ids of turns and items each time: 8 of 100 messages are of a kind that some feature reads, and each of these takes about 1.5 µs, while a message that passes takes 30 ns. The trace has room for all of it.
`

const peerPreface = `
**Peers** stand in the proxy's place, and their time is a ratio to that of cat in the same round, for as many bytes; where they get less of the load the row says so. %s The others are in cmd/bridge-bench/peers, a module of its own:

| | |
|---|---|
| encoding/json | json.Decoder into a map, json.Encoder, one write for each message. The members of a message come in another order, and texts are escaped another way |
| go.lsp.dev/jsonrpc2, creachadair/jrpc2 | a connection to each side; what comes from one is said to the other. ` + "`\"jsonrpc\":\"2.0\"`" + `, which Codex leaves out, is put in and taken out. Members that are not JSON-RPC's are lost, such as Codex's ` + "`emittedAtMs`" + `; jrpc2 refuses messages that have one, so that it is taken out before. Its client also hands notifications on in another order: of 20,000 in a row 724 came before one that was said earlier |
`

// page is the report as Markdown.
func (b *bench) page() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Benchmarks\n\nWritten by `make bench` (cmd/bridge-bench). Measured on %s; %d rounds.\n", machine(), b.rounds)
	if b.only != "" {
		fmt.Fprintf(&out, "Only a part was measured (-only %s).\n", b.only)
	}
	if b.short {
		fmt.Fprintln(&out, "The loads were a tenth of what the table says (-short).")
	}
	fmt.Fprint(&out, preface, featurePreface)
	if len(b.peers) > 0 {
		fmt.Fprintf(&out, peerPreface, b.aboutSocat())
	}
	fmt.Fprintln(&out)
	b.table.Markdown(&out, why)
	return out.Bytes()
}
