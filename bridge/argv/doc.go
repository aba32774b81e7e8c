// Package argv parses the argument list of Codex as Codex does: its command, and its flags with
// their values. It does not apply a policy.
//
// Every list that Codex could take for an app-server on stdio is the proxy's, since a mistake the
// other way would bypass the policy. Of the arguments after another command it parses only the
// first word.
//
// The functions are pure.
package argv
