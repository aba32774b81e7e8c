// Package worker has Codex describe images, beside the conversation: each job has an
// app-server, a folder and a thread of its own, of which nothing is left, and one deadline
// for all of it. What Codex asks meanwhile is declined.
//
// Do does a job with any server; a Worker starts one for it; a Feature answers
// bridge/image/describe. All may be used by several goroutines.
package worker
