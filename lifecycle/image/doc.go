// Package image has Codex describe images, beside the conversation. Each job has its own
// app-server, folder and thread, of which nothing is left, and one deadline for all of it.
// The bridge declines every request that Codex makes meanwhile.
//
// A Worker starts an app-server for each job; a Feature answers bridge/image/describe with a
// Worker. The package does not keep images or descriptions. Several goroutines may use a
// Worker and a Feature.
package image
