// Package redact replaces secrets in text and JSON that is stored for people.
//
// It finds secrets by the names of fields, by their format, and secrets that it is given.
// It does not find a secret that looks like an ordinary word and has no telling name. A
// Redactor may be used concurrently.
package redact
