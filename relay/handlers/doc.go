// Package handlers decides on Codex's native hooks. It consults the rules of policy, the
// commands of [[hooks.handler]], and a client that offers to answer hooks.
//
// A denial of one of them is final. A failure (no start, timeout, bad exit, invalid output,
// panic) is a denial if the event decides, unless hooks.on_failure is "allow". A tool's
// input that a handler rewrites goes through the rules again. An answer comes when the
// context ends, at the latest. Package hook passes the answer to Codex.
//
// A [Gate] asks the person about a tool call in Codex's place. The bridge sets Codex to on-request,
// so that commands run in the sandbox. If the person wants to be asked about every call, the gate
// asks from the pre_tool_use hook. It sends Codex's own approval request, between item/started and
// the item's result, so a client needs no support for the bridge. Remembered, shared and
// rate-limited answers work as in package approvals. Every failure is a denial.
//
// A Chain and a Gate may be used by any number of goroutines.
package handlers
