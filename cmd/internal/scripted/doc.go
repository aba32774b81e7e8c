// Package scripted plays the model behind codex, so that the demo and the
// tests run the real codex with no account and no network.
//
// Start opens an HTTP server on the loopback interface that speaks the part of
// the Responses API that codex uses: POST /v1/responses, answered with
// server-sent events, and GET /v1/models. Home writes the CODEX_HOME folder
// that points codex at it.
//
// What the model answers is decided by a Script, a list of steps written in Go,
// and where no step fits by the user's own words: see Vocabulary. Everything it
// says is a function of the requests in the order in which they arrive; ids
// come from counters.
//
// It promises to play a model well enough for codex 0.169.0, nothing more: it
// knows no accounts, no websockets, no compaction endpoint, and it believes
// whoever connects.
//
// A Server is safe for concurrent use.
package scripted
