// Package scripted plays the model behind Codex, so that the demo and the tests run the real Codex
// without an account or a network.
//
// Start opens an HTTP server on the loopback interface with the part of the Responses API that
// Codex uses: POST /v1/responses, answered with server-sent events, and GET /v1/models. Home writes
// a CODEX_HOME folder that selects the server.
//
// A Script, a list of steps in Go, decides the model's answers. If no step fits, the user's text
// decides: see Vocabulary. The answers depend only on the requests and their order; ids come from
// counters.
//
// The package supports the releases of Codex that the bridge supports. It has no accounts, websockets or
// compaction endpoint, and accepts any client.
//
// A Server may be used concurrently.
package scripted
