// Package binding decides whether a conversation may continue with its Codex thread.
//
// A Binding records the thread of a conversation and the inputs that the thread was started with.
// Read and Encode convert it from and to its file. Read drops and reports a value that it can't use,
// and keeps the rest. A text in another form or version is an error; the caller decides whether to
// replace it. Encode and Read return the same record.
//
// A fingerprint identifies a JSON text in its canonical form (RFC 8785): white space, the order
// of members and the spelling of numbers and escapes do not count; the order of arrays does. It
// begins with the version of this rule. HashFingerprint hides the text, which may hold keys and
// tokens; a fingerprint of TextFingerprint can be read. "" is the fingerprint of nothing.
// SameFingerprint also takes the fingerprints of other implementations: the JSON text itself, or
// its bare hexadecimal SHA-256. Any other fingerprint equals only itself.
//
// An Engine is the host's context engine, which builds the context of a thread.
// QuoteHistory writes the history for the first turn of a new thread. Its limits count
// characters, that is code points; a token is the model's unit.
//
// PluginSettings holds the host's plugins. An AppConfig is the part of the thread's configuration
// that enables the apps of those plugins. The same settings can lead to another AppConfig when Codex
// knows other apps.
//
// Decide compares the binding with the inputs of a thread that would start now. NewStarted and
// NewResumed return the new binding, AfterResumeFailure and AfterTurnFailure the effect of a failure.
// A thread is never resumed if a fingerprint differs. A change without a new fingerprint starts no
// thread. With the new binding the same decision is a resume. A binding is replaced only when the new
// thread has started.
//
// The package reads no file and no clock. Several goroutines may use all of it.
package binding
