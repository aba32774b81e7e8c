package host

import (
	"crypto/sha256"
	"encoding/hex"

	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

// Status is the member tools of bridge/status.
type Status struct {
	Fingerprint string              `json:"fingerprint"` // of the host's and the registered tools
	Host        []string            `json:"host"`
	Registered  []string            `json:"registered"`
	LeftOut     []tools.OmittedTool `json:"leftOut"`
	Servers     []provider.Status   `json:"servers"`
	Running     int64               `json:"running"` // number of running calls
}

// Status returns the current status without asking any server.
func (f *Feature) Status() Status {
	o, own := f.catalogue.Last(), f.registered.current()
	f.mu.Lock()
	kit := f.toolSet
	f.mu.Unlock()
	s := Status{
		Fingerprint: fingerprint(o, own), Host: displayNames(o), Registered: displayNames(own),
		LeftOut: append([]tools.OmittedTool{}, o.Omitted...), Servers: kit.Servers(), Running: f.running.count.Load(),
	}
	return s
}

func displayNames(o *tools.Snapshot) []string {
	list := []string{}
	for _, s := range o.Tools {
		list = append(list, s.DisplayName())
	}
	return list
}

// fingerprint returns a short digest for comparison.
func fingerprint(offers ...*tools.Snapshot) string {
	sum := sha256.New()
	for _, o := range offers {
		sum.Write([]byte(o.Fingerprint() + "\n"))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
