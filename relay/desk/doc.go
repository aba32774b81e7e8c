// Package desk asks a second person about a command. A rule with approvers names groups of public SSH keys.
// The command runs only if a member of each group has signed exactly this request in time.
//
// The desk does not trust the store or the webhook that carries a request and its answers: it compares a
// signature with the request in its own memory. A request has a random id, ends with the first result,
// and is never used again. The keys of the person who runs the bridge never count.
//
// Each failure, and silence, is a no. All types may be used by several goroutines.
package desk
