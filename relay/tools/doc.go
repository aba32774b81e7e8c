// Package tools offers tools of the host's side to every thread, and answers Codex's
// calls of them, so that the editor need not know them.
//
// A Provider has tools: a command, a server, or the client. A Catalogue checks what the
// providers offer before Codex sees it, leaves out what Codex would refuse or never offer,
// and says why. A Runner answers calls: who is to be asked before, the schema, the tool,
// the handlers of its result, and what Codex can be told of that. Whatever happens to a
// call, Codex gets exactly one answer to it: unanswered, its turn would hang (measured
// with 0.169.0).
//
// It does not promise that a provider ends what it has started; it does not wait for one
// that does not, other than in Runner.Close. A Catalogue and a Runner may be used by many
// goroutines at once.
package tools
