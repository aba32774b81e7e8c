// Package image lets Codex describe images outside of the conversation. Each job has its own
// app-server, folder and thread, which are removed at its end, and one deadline. The bridge declines
// every request that Codex makes during a job.
//
// A Worker starts an app-server for each job; a Feature answers bridge/image/describe with a
// Worker. The package does not keep images or descriptions. Several goroutines may use a
// Worker and a Feature.
package image
