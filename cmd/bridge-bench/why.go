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
	"trip/pipes/added":               wakeReason,
	"trip/socketpairs/added":         wakeReason,
	"trip/pipes/p50":                 wakeReason,
	"trip/socketpairs/p50":           wakeReason,
	"features/talk/hooks/time":       noise,
	"features/talk/tools/time":       noise,
	"features/talk/transcript/time":  noise,
	"features/talk/trace/time":       talkReason,
	"features/talk/most/time":        talkReason,
	"features/talk/all/time":         talkReason,
	"features/turns/trace/time":      traceReason,
	"features/turns/transcript/time": transcriptReason,
	"features/turns/all/time":        allReason,
	"start/codex":                    startReason,
	"start/size":                     sizeReason,
	"history/phrase-two":             phraseReason,
	"idle/memory":                    idleReason,
	"hook/ratio":                     hookReason,
	"hook/many/p99":                  manyReason,
	"hook/many/ratio":                manyReason,
	"hook-codex/many":                amongReason,

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
	"programs/start/p50":           startedReason,
	"programs/build":               startedReason,
}

const noise = "The machine has two cores and runs four processes here. Look at the minimum, the maximum and the CPU row, which is steadier."

const copyReason = "A Go program that copies and parses nothing needs as much: see its rows."

const wakeReason = "A Go program that copies and parses nothing adds a fifth to a half of it: see its row."

const sizeReason = "Code and data are 19 MB: the standard library 4.3, this program 4.2, SQLite 2.3, types 2.0, PostgreSQL 1.3, TUF, OpenTelemetry and protocol buffers 1.5. " +
	"The runtime's tables for them are 12 MB. Without SQLite, PostgreSQL, TUF and OpenTelemetry the program would have about 25 MB, without inlining 31."

const phraseReason = "SQLite reads the positions of three words in each part of its index. The same search among ten million records takes 91 to 146 ms in one run."

const excludedReason = "All records have both words, so the search has no match. To find that out, the index goes through all of them. " +
	"Floor: SQLite's own shell takes 1.9 to 2.7 s for the bare condition among ten million records, PostgreSQL's 1.1 s."

const talkReason = "The trace copies the stream until 8 MiB wait to be written, and then writes with a twentieth of a core. The rounds differ by more than the miss."

const clientReason = "The bridge follows the turns of each thread for such a client, so it reads 8 of 545 messages. " +
	"Floor: a bridge that parses these and ignores their contents takes 1.32×, where the whole takes 1.37×. With four million messages instead of one, the whole takes 1.27×."

const positionsReason = "PostgreSQL's index has no positions. It reads the 10,000 records with the rare word, and looks through each one for the phrase. " +
	"Floor: psql takes 145 to 250 ms for the bare condition, most of it in the index."

const traceReason = "Floor: a trace that drops each message takes 1.08×, where the whole takes 1.21×. The difference is the copy of the first 8 MiB, which wait to be written. " +
	"With four million messages instead of one, the whole takes 1.12×. Codex writes at the pace of a model, which costs one copy per message."

const transcriptReason = "Floor: a transcript that parses and queues the completed items, and stores none, takes 1.40×. Codex completes a few items in a second, not fifty thousand."

const allReason = "Floor: with a trace that drops each message, a transcript that stores no item, and turns that are parsed and ignored, all features take 1.67×."

const startReason = "Floor: this program with a main function that only starts Codex and copies bytes. It adds 6.5 to 7.5 ms to the real Codex, and 9.4 to 11.4 ms to the stand-in. " +
	"It spends them on the initialisation of 234 packages, at most 0.3 ms for each. A Go program without these packages adds 2.4 ms to the stand-in."

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

const startedReason = "3 % of a process are 37 µs. A supervisor that reads nothing has added between -23 and 61 µs in eight rounds. The rest are about fifteen system calls " +
	"for the words, the file and the folder of the process. The dearest are those that make entries in /proc for a new process."
