// Package child is the one place that makes child processes: Run for one that is
// given its input and asked for its output, Start and Wait for codex itself. A
// child that is started in another way is taken from who waits for it: on Linux
// the bridge is the reaper of orphans.
//
// It promises that what Run has started is gone when Run returns because its time
// was up, with what the child has started, as far as the system lets us find that
// (the process group; on Linux all descendants; on Windows the job), and that a
// child does not outlive the bridge on Linux and Windows. The groups of children do not
// outlive a bridge that was killed on any Unix that has a shell; on Linux neither does what
// has left them, unless it has cleared its environment. Safe for concurrent use.
package child
