// Package gate asks the person about a tool call in Codex's place.
//
// The bridge sets Codex to on-request, so that commands run in the sandbox. If the person
// wants to be asked about every call, the gate asks from the pre_tool_use hook. It sends
// Codex's own approval request, between item/started and the item's result, so a client
// needs no support for the bridge.
//
// Remembered, shared and rate-limited answers work as in package approvals. Every failure
// is a denial.
//
// A Gate may be used by many goroutines at once.
package gate
