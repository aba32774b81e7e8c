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
	"idle/memory":              idleReason,
	"hook/ratio":               hookReason,
	"hook/many/p99":            manyReason,
	"hook-codex/many":          amongReason,

	"parse/decide":                 decideReason,
	"writers/decisions/PostgreSQL": postgresReason,
	"writers/grants/PostgreSQL":    postgresReason,
	"writers/grants/SQLite":        sqliteReason,
	"hub/trip":                     hubReason,
}

const noise = "The machine has two cores and runs four processes here. Look at the minimum, the maximum and the CPU row, which is steadier."

const traceReason = "The trace copies the stream until 8 MiB wait to be written, and then writes with a twentieth of a core. " +
	"The rounds differ by more than the miss. Codex writes at the pace of a model, which costs one copy per message."

const startReason = "Under a policy the bridge also runs `codex --version`, which shares two cores with the start of Codex. " +
	"Without a configuration the first byte of a stand-in comes after 16 ms. " +
	"An empty Go program takes 2 to 3 ms here, and the initialisation of the packages 8 ms."

const idleReason = "4.3 MiB are memory of the process; the rest are pages of the program file, which the system can drop and processes share. An empty Go program has 2.1 MiB."

const hookReason = "An empty Go program takes 1.6× to 3×, by machine. The size of this program adds 0.6 ms, the question and its answer 0.3 ms, on a fast machine. " +
	"A separate hook program would take 2.1× there, but users would have to install it and keep its version equal."

const manyReason = "The processes share two cores with the program that starts and answers them. " +
	"A build whose earlier table has 64 ms takes 129 to 133 ms on the machine of this table."

const amongReason = "The cause is the CPU time, as above."

const decideReason = "The parse takes a quarter, the check of the form by Codex's schema an eighth, the sandbox a fifth. The rest is in parts below a tenth."

const postgresReason = "pgbench with 50 clients, one lock and a row that depends on the one before makes 1,350 to 1,415 transactions a second on this machine."

const sqliteReason = "Each grant is one write to the disk in the turn of its process. A C program with a lock and a sync makes 1,290 to 3,280 a second."

const hubReason = "A relay between WebSockets in Go without a policy adds 87 to 119 µs, socat without WebSockets 38 to 122 µs."
