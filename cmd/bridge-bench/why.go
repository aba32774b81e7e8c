//go:build linux

package main

// reasons say why a row misses its goal, as far as it has been found out.
var reasons = map[string]string{
	"deltas/pipes/time": noise,
	"long/pipes/time":   noise,
	"start/codex":       startReason,
}

const noise = "Two processes more than cores share the machine here, so that the time depends on who runs when; " +
	"look at the smallest and the largest ratio, and at the processor time, which is steadier. " +
	"What is left to be done for a byte is one copy, for the look at it; it goes to the client without another."

const startReason = "The start of codex itself varies by more than this from one time to the next, and on two cores the neighbours are in it, too; " +
	"the row with the stand-in for codex has less of that. Of the 5.8 ms of processor time that the bridge takes to start, 3 are package jsonschema's, " +
	"which reads the meta-schemas of all drafts before main, used or not (measured by leaving it out); an empty Go program takes 1."
