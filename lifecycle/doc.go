// Package lifecycle is for what outlives a single message: which thread a session belongs
// to and whether it may still be used, turns in line, steering, and the image worker.
//
// Package threads acts on it, with the store and the wire; most of the others hold what
// needs neither. The key [steering] of the configuration is checked and not acted on.
package lifecycle
