// Package provider has two Providers of tools: [Commands], for the configuration's
// [tools.NAME], and [Server], for a [tool_servers.NAME].
//
// A command gets the arguments as one line of JSON on stdin. It runs in the thread's folder,
// with the environment of child.Environ. Its stdout is the result: a text, or one JSON object
// with contentItems:
//
//	{"contentItems": [{"type": "inputText", "text": "…"}, {"type": "inputImage", "imageUrl": "data:image/png;base64,…"}],
//	 "success": true, "details": {"status": "ok", "exitCode": 0, "timedOut": false}}
//
// success and details are optional. Any other exit status than 0 is a failure. Processes that
// a command leaves behind are ended.
//
// A server speaks MCP, as a child or over HTTP, or the bridge's own two methods over JSON-RPC.
// It starts on demand and is restarted when it dies, less and less often. Its messages and its
// number of tools are limited. A call that may have run is not repeated. Servers are offered
// no sampling, elicitation or roots.
//
// All types may be used by many goroutines at once.
package provider
