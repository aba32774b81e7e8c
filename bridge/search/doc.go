// Package search is what a full-text search has to know of texts: their words, what a
// person asks for, and the part of a text that shows why it was found.
//
// Words are the same whatever database looks them up: letters and digits, without case and
// accents; what is written without spaces counts character by character. A word is cut
// after 64 characters. It has no state; all of it may be used from everywhere at once.
package search
