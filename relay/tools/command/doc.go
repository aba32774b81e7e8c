// Package command runs the tools that are commands of the host, [tools.NAME] of the
// configuration.
//
// A command gets the arguments as one JSON object and a line's end on stdin, and then
// stdin's end. It runs in the thread's folder, with what child.Environ leaves of the
// environment. What it prints is the result, as text, unless it is one JSON object with
// contentItems:
//
//	{"contentItems": [{"type": "inputText", "text": "…"}, {"type": "inputImage", "imageUrl": "data:image/png;base64,…"}],
//	 "success": true, "details": {"status": "ok", "exitCode": 0, "timedOut": false}}
//
// success and details may be left out. A command that ends with another status than 0,
// or by a signal, has failed, whatever it printed; the model is told so, with the last
// words on stderr. What a command leaves running is ended with it.
package command
