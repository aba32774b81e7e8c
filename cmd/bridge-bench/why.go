//go:build linux

package main

// why says why a row misses its goal, as far as it has been found out.
func why(key string) string {
	if reason := reasons[key]; reason != "" {
		return reason
	}
	return "Nobody has looked into it yet."
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

const noise = "Two processes more than cores share the machine here, so that the time depends on who runs when; " +
	"look at the smallest and the largest ratio, and at the processor time, which is steadier. " +
	"What is left to be done for a byte is one copy, for the look at it; it goes to the client without another."

const traceReason = "A stream that is as fast as memory is copied for the trace until 8 MiB wait to be written; after that a twentieth of a processor " +
	"goes on writing, and what does not fit is counted. The rounds differ by more than what is missed. Codex writes as fast as a model speaks: there each message costs its copy."

const startReason = "The start of codex itself varies by more than this from one time to the next, and on two cores the neighbours are in it, too; " +
	"the row with the stand-in for codex has less of that."

const hookReason = "An empty Go program takes 1.6 × `true` here, and 0.6 ms more come with the size of this one: there are tables that the runtime reads before anything else, " +
	"used or not. The question itself, with its answer, is 0.3 ms. A program of its own for the hook would come to 2.1 ×, and would have to be installed, found and kept at the same version."

const manyReason = "It is processor time: 40 processes of 1.9 ms each are 38 ms for two cores that do nothing else, and who starts and answers them uses the same cores."

const amongReason = "It is the slowest of forty, while Codex and all that it starts share two cores: the rounds run from half of the goal to one and a half times of it, and their median lies near it. " +
	"It is the same processor time as above."
