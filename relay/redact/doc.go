// Package redact takes secrets out of what is kept for people to look at.
//
// It knows them by the names of fields, by their shape, and those that it is told. A secret
// that looks like any other word, and that nobody names, is not found. A Redactor may be used
// from everywhere at once.
package redact
