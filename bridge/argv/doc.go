// Package argv reads the argument list of codex as codex itself does: which
// command it names, which flags stand where and with which values.
//
// It promises to take for the proxy's everything that codex could take for an
// app-server on stdio: a mistake to the other side would be a way around the
// policy. It promises nothing about arguments that follow another command, but
// for the first word. It judges nothing.
//
// All of it is pure and may be used from any number of goroutines.
package argv
