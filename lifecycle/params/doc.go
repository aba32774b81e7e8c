// Package params writes the requests that open a thread and start a turn, from the request of
// the client, the configuration and the bridge's own additions.
//
// Unknown members of a client's request stay unchanged in thread/start and turn/start.
// thread/resume gets only the members that it knows; dynamic tools and environments belong to
// the thread from its start (measured with 0.169.0: Codex ignores them in thread/resume).
//
// ReadInput reads a message and returns the items of a turn's input. A text is a string or an
// item of type text. An image is an item of type image with one of url, path and dataBase64; its
// data decide its type. A file is an item of type media with a path, a url or both, and its MIME
// type; a file that is no image is omitted. Other items, such as mentions and skills, are Codex's
// own and stay unchanged.
//
// MCPServersConfig returns the part of a thread's configuration that starts the user's MCP
// servers. A definition that has no equivalent in Codex is an error and is never omitted: it
// could be a restriction. Servers that are disabled, or for other agents, are omitted.
//
// The package checks nothing against the policy: the policy sees the requests that it writes. It
// reads no file. Several goroutines may use all of it.
package params
