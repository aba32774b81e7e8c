// Package page makes one page of a trace that can be sent to a colleague: it loads nothing,
// sends nothing, and is read with a keyboard as well as with a mouse, in light and in dark.
//
// What stands in a trace was written by models, programs and strangers. It is shown as text
// only: the page is made by html/template, and its content policy lets no script run but its
// own.
package page
