// Package host adds the host's tools to threads and answers Codex's calls of them. A client
// that knows the bridge can register tools of its own.
//
// The client sees only calls of its own tools. Every other call gets exactly one answer,
// and ends with its turn, its item, or Codex. Open threads get a warning when the host's
// tools change. Without tools in the configuration, messages pass unchanged.
//
// Options.Before and the thread's hooks decide whether a call may run. A Feature may be
// used by many goroutines at once.
package host
