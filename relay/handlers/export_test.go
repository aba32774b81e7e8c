package handlers

// Waiting returns how many questions wait for the answer to another.
func (g *Gate) Waiting() int { return g.pending.NumWaiting() }

// ParsePatch is parsePatch.
func ParsePatch(patch, cwd string) []patchChange { return parsePatch(patch, cwd) }
