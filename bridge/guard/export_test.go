package guard

import (
	"context"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// GitDir is gitDir.
var GitDir = gitDir

// Disk is disk, CanonicalOn is canonical.
type Disk = disk

var CanonicalOn = canonical

// SystemDisk is the disk of this machine.
var SystemDisk Disk = systemDisk{}

// Roots is what codex takes for the project of a folder, on this machine.
func Roots(folder string) ([]string, error) { return filesystem{}.Roots(folder) }

// SetCodexTimeout sets how long a message waits for what Codex has to say first. It is called
// while no message of the client is under way.
func SetCodexTimeout(g *Guard, d time.Duration) { g.codexTimeout = d }

// AskPerson has a feature that Asking has returned ask its person about a message.
func AskPerson(f bridge.Feature, p *policy.Policy, m *rpc.Message) *rpc.Error {
	return f.(*consentFeature).decide(context.Background(), p, m)
}
