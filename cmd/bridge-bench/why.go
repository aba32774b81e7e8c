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
	"pass/deltas/pipes/time":         copyReason,
	"pass/deltas/pipes/cpu":          copyReason,
	"pass/deltas/socketpairs/time":   copyReason,
	"pass/deltas/socketpairs/cpu":    copyReason,
	"pass/long/pipes/time":           noise,
	"trip/socketpairs/added":         wakeReason,
	"features/talk/tools/time":       noise,
	"features/talk/transcript/time":  noise,
	"features/talk/trace/time":       traceReason,
	"features/talk/most/time":        traceReason,
	"features/talk/all/time":         traceReason,
	"features/turns/trace/time":      traceReason,
	"features/turns/transcript/time": transcriptReason,
	"features/turns/all/time":        transcriptReason,
	"start/codex":                    startReason,
	"start/size":                     sizeReason,
	"history/phrase-two":             phraseReason,
	"idle/memory":                    idleReason,
	"hook/ratio":                     hookReason,
	"hook/many/p99":                  manyReason,
	"hook/many/ratio":                manyReason,
	"hook-codex/many":                amongReason,

	"shared/newest":                       statisticsReason,
	"features/turns/client/time":          clientReason,
	"features/talk/policy/time":           noise,
	"growth/SQLite/1000000/excluded":      excludedReason,
	"growth/SQLite/10000000/excluded":     excludedReason,
	"growth/PostgreSQL/10000000/excluded": excludedReason,
	"growth/PostgreSQL/10000000/phrase":   positionsReason,

	"parse/decide":                 decideReason,
	"writers/decisions/PostgreSQL": postgresReason,
	"writers/grants/PostgreSQL":    postgresReason,
	"writers/grants/SQLite":        sqliteReason,
	"hub/trip":                     hubReason,
}

const noise = "The machine has two cores and runs four processes here. Look at the minimum, the maximum and the CPU row, which is steadier."

const copyReason = "A Go program that copies and parses nothing needs as much: see its rows."

const wakeReason = "A Go program that copies and parses nothing adds half of it: see its row."

const sizeReason = "Code and data are 19 MB: the standard library 4.3, this program 4.2, SQLite 2.3, types 2.0, PostgreSQL 1.3, TUF, OpenTelemetry and protocol buffers 1.5. " +
	"The runtime's tables for them are 12 MB. Without SQLite, PostgreSQL, TUF and OpenTelemetry the program would have about 25 MB, without inlining 31."

const phraseReason = "SQLite reads the positions of three words in each part of its index. The same search among ten million records takes 91 to 146 ms in one run."

const excludedReason = "All records have both words, so the search has no match. To find that out, it looks at each record: a quarter of a microsecond for one."

const statisticsReason = "The server had no statistics of the table yet, which it makes within minutes. With them, the search among as many records in the rows of the growth meets the goal."

const clientReason = "The bridge follows the turns of each thread for such a client: 0.07 µs of processor time for a message. The rounds differ by more than the miss."

const positionsReason = "PostgreSQL's index has no positions. It reads the 10,000 records with the rare word, and looks through each one for the phrase."

const traceReason = "The trace copies the stream until 8 MiB wait to be written, and then writes with a twentieth of a core. " +
	"The rounds differ by more than the miss. Codex writes at the pace of a model, which costs one copy per message."

const transcriptReason = "Redacting the texts and writing them to SQLite with its index of words takes a core while the stream runs at full speed. " +
	"A transcript that parses the messages and stores nothing takes 1.14×. A model writes far more slowly."

const startReason = "Floor: an empty Go program that starts a stand-in adds 3 to 6 ms here. The initialisation of 234 packages takes 5 to 8 ms, that of each one at most 0.3 ms. " +
	"A page that a process touches first costs 8 µs on this machine, and a start touches 1,400."

const idleReason = "4.3 MiB are memory of the process; the rest are pages of the program file, which the system can drop and processes share. " +
	"By the kernel's marks, an idle bridge uses none of them in ten seconds, and 200 requests use 2.3 MiB. An empty Go program has 2.1 MiB."

const hookReason = "Floor: the rows of a program with the hook alone, and of a Go program that does nothing. " +
	"A separate program would save the difference to the first, but users would have to install it and keep its version equal."

const manyReason = "The processes share two cores with the program that starts and answers them. Floor: the rows below it, of a program with the hook alone, and of one that does nothing."

const amongReason = "The cause is the CPU time, as above."

const decideReason = "The parse takes a quarter, the check of the form by Codex's schema an eighth, the sandbox a fifth. The rest is in parts below a tenth."

const postgresReason = "pgbench with 50 clients, one lock and a row that depends on the one before makes 1,350 to 1,415 transactions a second on this machine."

const sqliteReason = "Each grant is one write to the disk in the turn of its process. A C program with a lock and a sync makes 1,290 to 3,280 a second."

const hubReason = "A relay between WebSockets in Go without a policy adds 87 to 119 µs, socat without WebSockets 38 to 122 µs."
