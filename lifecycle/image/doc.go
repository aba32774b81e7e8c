// Package image is what the image worker knows without doing: which images it takes, which
// model may see them, what Codex is asked, and what of a turn is the description.
//
// All of it is pure but for Collector, which may be used by several goroutines. Package
// worker does the work.
package image
