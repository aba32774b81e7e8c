// Package child starts all child processes of the bridge: Run runs a program with given input
// and returns its output, Open starts one to talk to, and Start and Wait are for Codex. On Linux
// the bridge reaps orphans, and would also reap a child that was started in another way.
//
// When the time of Run is up, the child and its descendants are killed, as far as the system can
// find them: the process group; on Linux all descendants; on Windows the job.
//
// If the bridge is killed, its children end on Linux and Windows, and their process groups on
// any Unix with a shell. On Linux, descendants that have left the group end too, unless they
// have cleared their environment. All functions may be called concurrently.
//
// Connect starts a JSON-RPC server, such as codex-bridge itself, and returns a Client of it. A call
// has one outcome: a result, an error of the server, or the reason why there is none. Every request
// of the server gets a response. Notifications are handled one at a time, in the server's order. A
// request is handled after the notifications before it, and concurrently with later ones. After
// Close no process of the server is left.
package child
