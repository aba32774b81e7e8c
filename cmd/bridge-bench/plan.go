//go:build linux

package main

import "codex-bridge/cmd/bridge-bench/internal/table"

// measurement fills some rows, one value each, every round.
type measurement struct {
	name  string // its rows have keys that start with this
	peers bool   // it measures the peers, too
	round func(b *bench, n int) error
}

// measurements are all of them, in the order of the report. The rows on the way of a message
// come first, then what is started, and then what is decided and kept.
var measurements = []measurement{
	passage{load: "deltas", title: "pass-through, 1,000,000 notifications of 250 B", over: pipes, goals: goals{0.67, 1, 16}, peers: "tenth"}.measurement(),
	passage{load: "long", title: "pass-through, 100 lines of 4 MiB", over: pipes, goals: goals{0.67, 1, 16}, peers: "few"}.measurement(),
	passage{load: "deltas", title: "pass-through, 1,000,000 notifications of 250 B", over: sockets, goals: goals{1.15, 1, 16}, peers: "tenth"}.measurement(),
	passage{load: "long", title: "pass-through, 100 lines of 4 MiB", over: sockets, goals: goals{1.15, 1, 16}, peers: "few"}.measurement(),
	passage{load: "each", title: "200,000 notifications of 250 B, one write each, as Codex writes", over: pipes}.measurement(),
	passage{load: "each", title: "200,000 notifications of 250 B, one write each, as Codex writes", over: sockets}.measurement(),
	passage{load: "huge", title: "one line of 256 MiB", over: pipes, goals: goals{memory: 16}}.measurement(),
	featured("talk", "features on, 1,000,000 notifications of 250 B", 1.1),
	featured("turns", "features on, 1,000,000 messages of turns", 0),
	featured("turns-each", "features on, 200,000 messages of turns, one write each", 0),
	roundTrip(pipes),
	roundTrip(sockets),
	{name: "held", round: (*bench).held},
	{name: "start", round: (*bench).start},
	{name: "hook", round: (*bench).hooks},
	{name: "hook-codex", round: (*bench).hooksOfCodex},
	{name: "tools", round: (*bench).tools},
	{name: "pump", round: (*bench).pump},
	{name: "parse", round: (*bench).parse},
	{name: "rules", round: (*bench).ruling},
	{name: "bindings", round: (*bench).bindings},
	{name: "history", round: (*bench).history},
	{name: "shared", round: (*bench).shared},
	{name: "stream", round: (*bench).stream},
}

// goals of a load; 0 where there is none.
type goals struct{ time, cpu, memory float64 }

func orNone(bound float64) table.Goal {
	if bound == 0 {
		return table.Goal{}
	}
	return table.AtMost(bound)
}
