// Package lifecycle is for what outlives a single message: which thread a
// conversation belongs to and whether it may still be used, turns in line, steering,
// and the image worker. This version has none of it yet; the keys [thread],
// [steering] and [image] of the configuration are checked and not acted on.
package lifecycle
