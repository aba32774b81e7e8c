package guard

import (
	"context"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// ReasonOf exports reasonOf.
var ReasonOf = reasonOf

// GitDir exports gitDir.
var GitDir = gitDir

// Disk exports disk, CanonicalOn canonical, FollowOn follow, and ReadingsOn readings.
type Disk = disk

var (
	CanonicalOn = canonical
	FollowOn    = follow
	ReadingsOn  = readings
)

// WindowsPath exports windowsPath. Canonical, Follow and Readings are those of this machine.
var (
	WindowsPath = windowsPath
	Canonical   = filesystem{}.Canonical
	Follow      = filesystem{}.Follow
	Readings    = filesystem{}.Readings
)

// SystemDisk is the disk of this machine.
var SystemDisk Disk = systemDisk{}

// Roots returns the project of a folder, as Codex finds it on this machine.
func Roots(folder string) ([]string, error) { return filesystem{}.Roots(folder) }

// SetCodexTimeout sets how long a message waits for Codex. No message of the client may be pending.
func SetCodexTimeout(g *Guard, d time.Duration) { g.codexTimeout = d }

// AskPerson makes a feature of Asking ask its person about a message.
func AskPerson(f bridge.Feature, p *policy.Policy, m *rpc.Message) *rpc.Error {
	return f.(*consentFeature).decide(context.Background(), p, m)
}
