package turns

// Running returns the turn that runs in a thread and takes input: "" for none, and for a
// review or a compaction, which Codex names in two ways.
func (f *Feature) Running(thread string) string {
	f.mu.Lock()
	c := f.open[thread]
	f.mu.Unlock()
	if c == nil {
		return ""
	}
	if turn, open := c.thread.Turn(); open {
		return turn
	}
	return ""
}
