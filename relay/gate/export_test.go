package gate

// Waiting returns how many questions wait for the answer to another.
func (g *Gate) Waiting() int { return g.pending.NumWaiting() }

// ParsePatch is parsePatch.
func ParsePatch(patch, cwd string) []change { return parsePatch(patch, cwd) }
