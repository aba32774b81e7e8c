// Package binding decides whether a conversation may go on with its Codex thread.
//
// A Binding is the record of the thread that a conversation has, and of what the thread was
// started with. Read and Encode convert it from and to its file. Read is lenient: it drops and
// names a value that it can't use, and keeps the rest. A text in another
// form or version is an error; the caller decides whether it is replaced. A record
// that was read and encoded reads the same.
//
// A fingerprint identifies a JSON text in its canonical form (RFC 8785): white space, the order
// of members and the spelling of numbers and escapes do not count; the order of arrays does. It
// begins with the version of this rule. HashFingerprint hides the text, which may hold keys and
// tokens; a fingerprint of TextFingerprint can be read. "" is the fingerprint of nothing.
// SameFingerprint also takes the fingerprints of other implementations: the JSON text itself, or
// its bare hexadecimal SHA-256. Any other fingerprint equals only itself.
//
// An Engine is the host's context engine, which puts together the context of a thread.
// QuoteHistory writes the history for the first turn of a new thread. Its limits count
// characters, that is code points; a token is the model's unit.
//
// PluginSettings are the plugins that the host has set up. An AppConfig is the part of the
// thread's configuration that switches on the apps of those plugins. The same settings can have
// another AppConfig once Codex knows other apps.
//
// Decide compares the binding with what a thread would be started with now. NewStarted and
// NewResumed return the new binding, AfterResumeFailure and AfterTurnFailure the effect of a
// failure. The tests check these laws: a thread is never resumed across a fingerprint that
// differs; a change that does not change a fingerprint starts no thread; and with the new
// binding, the same decision is a resume. A binding is replaced only when the new thread has
// started, so that a start that fails costs nothing.
//
// The package reads no file and no clock. Several goroutines may use all of it.
package binding
