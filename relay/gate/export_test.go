package gate

// Waiting is how many wait for an answer to another's question.
func (g *Gate) Waiting() int { return g.pending.NumWaiting() }

// Changes is changes.
func Changes(patch, cwd string) []change { return changes(patch, cwd) }
