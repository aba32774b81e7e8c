// Package params writes the requests that open a thread and start a turn in it: what a
// client asked for, with what is configured and what the thread is given besides.
//
// Members of a client's request that are not spoken of here stay as they are in
// thread/start and turn/start. thread/resume gets only those that it knows; dynamic tools
// and environments are the thread's own from its start (measured with 0.169.0: they are
// ignored). Nothing is judged: the policy sees what this package has written.
//
// It is pure and may be used by several goroutines.
package params
