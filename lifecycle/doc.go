// Package lifecycle holds the packages for everything that outlives a single message: the
// thread of a session and whether it may still be used, turns and messages while turns run,
// descriptions of images, and agents beside the conversation.
//
// Packages threads, turns, image and acp are features of the bridge; turn, params and binding
// serve them. Package lifecycle itself has no code.
package lifecycle
