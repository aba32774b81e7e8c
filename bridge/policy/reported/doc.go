// Package reported compares the settings that Codex reports for a thread with the policy and with the sent ones.
//
// Verify checks the response to a request that opens a thread, and VerifySettings what Codex reports later. A thread
// whose settings do not fit takes no turns.
package reported
