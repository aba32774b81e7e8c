// Command hookonly is the hook process of codex-bridge without the rest of the program. bridge-bench
// measures how much of the time of a hook depends on that rest. Without arguments it does nothing.
package main

import _ "codex-bridge.example/relay/hook/ask" // asks before main

func main() {}
