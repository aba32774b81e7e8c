package host

import (
	"crypto/sha256"
	"encoding/hex"

	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/provider"
)

// Status is what bridge/status has under tools.
type Status struct {
	Fingerprint string              `json:"fingerprint"` // of the host's and the registered ones
	Host        []string            `json:"host"`
	Registered  []string            `json:"registered"`
	LeftOut     []tools.OmittedTool `json:"leftOut"`
	Servers     []provider.Status   `json:"servers"`
	Running     int64               `json:"running"` // calls
}

// Status is what is known now; it asks nobody.
func (f *Feature) Status() Status {
	o, own := f.catalogue.Last(), f.registered.offer()
	f.mu.Lock()
	kit := f.kit
	f.mu.Unlock()
	s := Status{
		Fingerprint: fingerprint(o, own), Host: called(o), Registered: called(own),
		LeftOut: append([]tools.OmittedTool{}, o.Omitted...), Servers: kit.Servers(), Running: f.running.count.Load(),
	}
	return s
}

func called(o *tools.Snapshot) []string {
	list := []string{}
	for _, s := range o.Tools {
		list = append(list, s.DisplayName())
	}
	return list
}

// fingerprint is short: it is compared, and not read.
func fingerprint(offers ...*tools.Snapshot) string {
	sum := sha256.New()
	for _, o := range offers {
		sum.Write([]byte(o.Fingerprint() + "\n"))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
