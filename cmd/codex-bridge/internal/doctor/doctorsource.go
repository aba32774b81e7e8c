package doctor

import (
	"fmt"
	"strings"
	"time"

	"codex-bridge.example/bridge/bundle"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
)

// examineSource returns a finding about the policy source, if there is one.
func examineSource(cfg *config.Config) []finding {
	if s := configured.StatusOfSource(cfg); s != nil {
		return []finding{SourceFinding(s)}
	}
	return nil
}

// expiresSoon is how long before the end of its metadata doctor warns about a bundle.
const expiresSoon = 48 * time.Hour

// SourceFinding returns the finding about the policy source.
func SourceFinding(s *configured.SourceStatus) finding {
	const publish = `whoever publishes it runs "codex-bridge policy publish" again`
	f := finding{Name: "policy source", State: Fine}
	if s.Version > 0 {
		var keys []string
		for _, id := range s.Signers {
			keys = append(keys, bundle.ShortID(id))
		}
		f.Detail = fmt.Sprintf("bundle v%d of %s, signed by %s, confirmed %s ago, expires %s", s.Version, s.URL, strings.Join(keys, ", "),
			time.Duration(s.AgeMs*int64(time.Millisecond)).Round(time.Second), s.Expires)
	}
	failed := ""
	if s.Error != "" {
		failed = fmt.Sprintf("; the last pull (%s) failed: %s", s.Attempt, s.Error)
	}
	expires, err := time.Parse(time.RFC3339, s.Expires)
	switch {
	case s.Missing != "":
		f.State, f.Detail, f.Hint = Broken, s.Missing+failed+"; no thread opens", `correct that, and run "codex-bridge policy pull"`
	case s.Stale:
		f.State, f.Detail, f.Hint = Warn, f.Detail+"; it is stale, and stays in force"+failed, `correct that, and run "codex-bridge policy pull"`
	case failed != "":
		f.State, f.Detail, f.Hint = Warn, f.Detail+failed, `correct that, and run "codex-bridge policy pull"`
	case err == nil && time.Until(expires) < expiresSoon:
		f.State, f.Hint = Warn, publish
	}
	return f
}
