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
var SystemDisk Disk = system{}

// Roots is what codex takes for the project of a folder, on this machine.
func Roots(folder string) ([]string, error) { return filesystem{}.Roots(folder) }

// SetPatience sets how long a message waits for what Codex has to say first. It is called
// while no message of the client is under way.
func SetPatience(g *Guard, d time.Duration) { g.patience = d }

// AskPerson has a feature that Asking has returned ask its person about a message.
func AskPerson(f bridge.Feature, p *policy.Policy, m *rpc.Message) *rpc.Error {
	return f.(*asking).answer(context.Background(), p, m)
}
