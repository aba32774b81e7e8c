//go:build linux

package main

import "codex-bridge.example/cmd/bridge-bench/internal/table"

// measurement adds one value to each of its rows every round.
type measurement struct {
	name  string // start of the keys of its rows
	peers bool   // it also measures the peers
	round func(b *bench, n int) error
}

// measurements has all measurements in the order of the report: first messages that pass, then
// starts, then decisions and storage.
var measurements = []measurement{
	passage{load: "deltas", title: "pass-through, 1,000,000 notifications of 250 B", over: pipes, goals: goals{0.67, 1, 16}, peers: "tenth"}.measurement(),
	passage{load: "long", title: "pass-through, 100 lines of 4 MiB", over: pipes, goals: goals{0.67, 1, 16}, peers: "few"}.measurement(),
	passage{load: "deltas", title: "pass-through, 1,000,000 notifications of 250 B", over: sockets, goals: goals{1.15, 1, 16}, peers: "tenth"}.measurement(),
	passage{load: "long", title: "pass-through, 100 lines of 4 MiB", over: sockets, goals: goals{1.15, 1, 16}, peers: "few"}.measurement(),
	passage{load: "each", title: "200,000 notifications of 250 B, one write each, as Codex writes", over: pipes, goals: goals{time: 1}}.measurement(),
	passage{load: "each", title: "200,000 notifications of 250 B, one write each, as Codex writes", over: sockets, goals: goals{time: 1}}.measurement(),
	passage{load: "huge", title: "one line of 256 MiB", over: pipes, goals: goals{memory: 16}}.measurement(),
	featured("talk", "features on, 1,000,000 notifications of 250 B", deltaGoals),
	featured("turns", "features on, 1,000,000 messages of turns", turnGoals),
	featured("turns-each", "features on, 200,000 messages of turns, one write each", nil),
	{name: pacedLoad, round: (*bench).paced},
	roundTrip(pipes),
	roundTrip(sockets),
	{name: "held", round: (*bench).backpressure},
	{name: "start", round: (*bench).start},
	{name: "hook", round: (*bench).hooks},
	{name: "hook-codex", round: (*bench).hooksOfCodex},
	inCommands("programs/start", (*bench).startsInCommands),
	inCommands("programs/build", (*bench).buildInCommands),
	{name: "programs/first", round: (*bench).startOfSupervisor},
	{name: "tools", round: (*bench).tools},
	{name: "pump", round: goBenchmarks("./rpc", "^BenchmarkPump$/^mixed$", pumpRows)},
	{name: "parse", round: goBenchmarks("./bridge/policy", "^BenchmarkTurn$", turnRows)},
	{name: "rules", round: goBenchmarks("./bridge/policy", "^BenchmarkManyRules$", ruleRows)},
	{name: "bindings", round: (*bench).bindings},
	{name: "history", round: (*bench).history},
	{name: "shared", round: (*bench).shared},
	{name: "growth", round: (*bench).growth},
	{name: "writers", round: (*bench).writers},
	{name: "stream", round: (*bench).stream},
	{name: "hub", round: (*bench).hub},
}

// Goals of the features, by key.
var (
	deltaGoals = map[string]float64{"policy": 1.1, "hooks": 1.1, "tools": 1.1, "client": 1.1, "trace": 1.1, "transcript": 1.1, "most": 1.1, "all": 1.1}
	turnGoals  = map[string]float64{"client": 1.3, "trace": 1.1, "transcript": 1.5, "all": 2}
)

// goals of a load; 0 without one.
type goals struct{ time, cpu, memory float64 }

func orNone(bound float64) table.Goal {
	if bound == 0 {
		return table.Goal{}
	}
	return table.AtMost(bound)
}
