// Package transcript stores what threads contain, so that it can be searched: messages of
// the user and the model, reasoning, plans, tool calls with their results, and compactions.
//
// No message waits for the store. Messages that come too fast, or while the store can't be
// reached for long, are dropped, and a gap is recorded. A record is stored once, even if
// Codex sends it again after a resume. Secrets are redacted as in a trace. Ephemeral
// threads are not stored. Of a forked thread, only new records are.
//
// The proxy calls a Mirror's routes; one goroutine of the Mirror writes to the store.
package transcript
