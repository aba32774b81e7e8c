package inject

// SourceOn exports sourceOn.
var SourceOn = sourceOn

// Trusted returns the hash of each installed hook by its key in hooks/list.
func (p Plan) Trusted() map[string]string {
	hashes := make(map[string]string)
	for key, h := range p.trusted() {
		hashes[key] = h.hash
	}
	return hashes
}
