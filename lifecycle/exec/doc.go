// Package exec prints a turn of an app-server as `codex exec` prints it: as lines of JSON, or as text.
//
// Measured with Codex 0.169: its exec is a client of an app-server in the same process. Texts of
// warnings and errors are those of the app-server. Items of other threads, such as a subagent's, are
// not printed.
package exec
