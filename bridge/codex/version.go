package codex

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/setting"
)

const versionForm = `(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)`

var (
	// versionLine matches the output of codex --version: "codex-cli 0.169.0".
	versionLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^codex-cli ` + versionForm + `\r?\n?$`) })
	// agentVersion matches a userAgent after the client's name and a slash: "0.169.0 (Debian 12; x86_64) xterm".
	agentVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + versionForm + ` \(`) })
)

// ParseVersion returns the version in the output of codex --version, or "" if the output has
// another form.
func ParseVersion(output string) string {
	if m := versionLine().FindStringSubmatch(output); m != nil {
		return m[1]
	}
	return ""
}

const (
	// versionTimeout is the timeout of codex --version. It takes some 0.2 s with npm's Node script.
	versionTimeout = 20 * time.Second
	// maxOutput is the maximum output of Codex in bytes.
	maxOutput = 1 << 20
)

// Program is a Codex executable and its version, which is determined once. Its methods may be called
// concurrently.
type Program struct {
	command Command // without arguments

	start   sync.Once     // of codex --version
	settle  sync.Once     // of version and err
	done    chan struct{} // closed when version and err are set
	version string
	err     error

	met atomic.Pointer[Range] // that of the last successful RequireVersion
}

// NewProgram returns a Program, and starts nothing. c.Args go before --version.
func NewProgram(c Command) *Program { return &Program{command: c, done: make(chan struct{})} }

// Path returns the path of the executable.
func (p *Program) Path() string { return p.command.Path }

// run runs codex --version in the background, unless it was run before.
func (p *Program) run() {
	p.start.Do(func() {
		go func() { // ends within versionTimeout
			ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
			defer cancel()
			p.set(p.command.ReadVersion(ctx))
		}()
	})
}

func (p *Program) set(version string, err error) {
	p.settle.Do(func() {
		p.version, p.err = version, err
		close(p.done)
	})
}

// ReadUserAgent takes the version from the userAgent in a response to initialize, unless the version
// is known. client is the clientInfo.name of the request. codex --version is not needed then; it costs
// about as much as the start of the app-server.
//
// The client must not choose the version: its name may be "x/9.9.9 (". Codex writes the name before its
// version, so exactly the name is cut off. A userAgent that does not begin with it is not used.
func (p *Program) ReadUserAgent(userAgent, client string) {
	name, known := p.nameInUserAgent(client)
	if !known {
		return
	}
	rest, found := strings.CutPrefix(userAgent, name+"/")
	if !found {
		return
	}
	if m := agentVersion().FindStringSubmatch(rest); m != nil {
		p.set(m[1], nil)
	}
}

// nameVariable is the environment variable whose value Codex uses in place of clientInfo.name.
const nameVariable = "CODEX_INTERNAL_ORIGINATOR_OVERRIDE"

// nameInUserAgent returns the name with which the userAgent begins, and whether that is certain. A value of
// nameVariable has no slash, and the client's name does not begin with it and a slash. So if the userAgent
// begins with the value and a slash, the version follows.
func (p *Program) nameInUserAgent(client string) (name string, known bool) {
	var values []string
	for _, entry := range p.command.Env {
		if key, value, _ := strings.Cut(entry, "="); strings.EqualFold(key, nameVariable) { // Windows ignores case
			values = append(values, value)
		}
	}
	switch {
	case len(values) == 0:
		return client, true
	case len(values) > 1, strings.Contains(values[0], "/"), strings.HasPrefix(client, values[0]+"/"):
		return "", false
	}
	return values[0], true
}

// Version returns the version of the program. It runs codex --version and waits for the result,
// unless the version is known.
func (p *Program) Version(ctx context.Context) (string, error) {
	select {
	case <-p.done:
		return p.version, p.err
	default:
	}
	p.run()
	select {
	case <-p.done:
		return p.version, p.err
	case <-ctx.Done():
		return "", fmt.Errorf("%s --version has not finished: %w", p.command.Path, context.Cause(ctx))
	}
}

// RequireVersion returns an error if the program's version is not in the range or unknown.
func (p *Program) RequireVersion(ctx context.Context, r Range) error {
	if met := p.met.Load(); met != nil && *met == r {
		return nil
	}
	version, err := p.Version(ctx)
	if err != nil {
		return fmt.Errorf("the version of codex is unknown, and %s is needed: %w; run that command by hand, or name another codex with %s or codex.command", r, err, Env)
	}
	if err := r.Check(version); err != nil {
		return err
	}
	p.met.Store(&r)
	return nil
}

// ReadVersion runs codex --version and parses its output.
//
// It runs beside the app-server, and must not share a folder with it. Measured with Codex 0.169: each
// Codex takes a lock in its folder when it starts, and goes on without it. An app-server that does not
// get the lock starts no sandboxed command.
func (c Command) ReadVersion(ctx context.Context) (string, error) {
	c.Env = Environ(c.Env, map[string]string{"CODEX_HOME": os.DevNull}, nil)
	output, err := c.Output(ctx, "--version")
	if err != nil {
		return "", err
	}
	version := ParseVersion(output)
	if version == "" {
		return "", fmt.Errorf("%s --version printed %q; expected a version such as \"codex-cli 0.169.0\"", c.Path, display.Clip(output))
	}
	return version, nil
}

// CompareVersions is setting.CompareVersions.
func CompareVersions(a, b string) int { return setting.CompareVersions(a, b) }

// CheckVersion returns an error if version is lower than minimum.
func CheckVersion(version, minimum string) error {
	if CompareVersions(version, minimum) < 0 {
		return fmt.Errorf("codex is %s; %s or later is needed: update it", version, minimum)
	}
	return nil
}

// Range is a range of versions of Codex, with its ends.
type Range struct {
	Min, Max string // "" means no limit
	// MaxPlace is the file and line that sets Max.
	MaxPlace string
}

// String returns the range in words.
func (r Range) String() string {
	switch {
	case r.Max == "":
		return r.Min + " or later"
	case r.Min == "":
		return r.Max + " or earlier"
	case r.Min == r.Max:
		return r.Min
	}
	return r.Min + " to " + r.Max
}

// Check returns an error for the user if version is not in the range.
func (r Range) Check(version string) error {
	switch {
	case r.Max != "" && CompareVersions(r.Max, r.Min) < 0:
		return fmt.Errorf("no codex is from %s (codex.min_version) to %s (codex.max_version, %s): change one of them", r.Min, r.Max, r.MaxPlace)
	case r.IsNewer(version):
		return fmt.Errorf("codex is %s; codex.max_version allows no later one than %s (%s): install %s, or raise codex.max_version", version, r.Max, r.MaxPlace, r)
	}
	return CheckVersion(version, r.Min)
}

// IsNewer reports whether version is above the range.
func (r Range) IsNewer(version string) bool {
	return r.Max != "" && CompareVersions(version, r.Max) > 0
}
