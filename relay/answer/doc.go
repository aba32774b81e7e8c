// Package answer turns an outcome into the answer that Codex gets to what it asks:
// approvals, a server's elicitations, questions to the user. It also makes the
// texts that a person is shown about them.
//
// It is pure: no file, no clock, no goroutine; all of it may be called
// concurrently. What it promises: every answer fits codex's schema, what is not
// understood is answered with no, and no text for a person holds a control,
// directional or invisible character.
//
// What it does not: it does not decide. Whether an outcome may be had, and how
// much of what was asked may be granted, is for policy to say, before and after.
package answer
