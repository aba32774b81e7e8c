//go:build linux

package main

// why returns the known reason why a row misses its goal, or "".
func why(key string) string {
	if reason := reasons[key]; reason != "" {
		return reason
	}
	return "The reason is unknown."
}

var reasons = map[string]string{
	"pass/deltas/pipes/time":   noise,
	"pass/long/pipes/time":     noise,
	"features/talk/tools/time": noise,
	"features/talk/trace/time": traceReason,
	"features/talk/most/time":  traceReason,
	"features/talk/all/time":   traceReason,
	"start/codex":              startReason,
	"hook/ratio":               hookReason,
	"hook/many/p99":            manyReason,
	"hook-codex/many":          amongReason,
}

const noise = "The machine has two cores and runs four processes here. Look at the minimum, the maximum and the CPU row, which is steadier."

const traceReason = "The trace copies the stream until 8 MiB wait to be written, and then writes with a twentieth of a core. " +
	"The rounds differ by more than the miss. Codex writes at the pace of a model, which costs one copy per message."

const startReason = "The start of Codex itself varies by more than this. The row with the stand-in varies less."

const hookReason = "An empty Go program takes 1.6× here. The size of this program adds 0.6 ms, the question and its answer 0.3 ms. " +
	"A separate hook program would take 2.1×, but users would have to install it and keep its version equal."

const manyReason = "40 processes need 1.9 ms of CPU each, so two cores need 38 ms. The program that starts and answers them shares these cores."

const amongReason = "The cause is the CPU time, as above. The rounds range from half the goal to one and a half times the goal."
