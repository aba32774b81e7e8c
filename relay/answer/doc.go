// Package answer converts an outcome to the result that Codex expects for approvals,
// elicitations and questions to the user. It also makes the texts that a person sees about
// them.
//
// All functions are pure and may be called concurrently. Every result fits Codex's schema.
// A request that is not understood is refused. No text for a person has control,
// bidirectional or invisible characters.
//
// The package does not decide: the policy checks the outcome before, and the granted
// permissions after.
package answer
