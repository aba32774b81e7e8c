package codex

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// versionLine matches the output of codex --version: "codex-cli 0.169.0".
var versionLine = regexp.MustCompile(`^codex-cli (\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)\r?\n?$`)

// ParseVersion returns the version in the output of codex --version, or "" if the output has
// another form.
func ParseVersion(output string) string {
	if m := versionLine.FindStringSubmatch(output); m != nil {
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

// Program is a Codex executable and its version, which is determined once. The userAgent in the
// response to initialize is not used, since the client can set it. Its methods may be called
// concurrently.
type Program struct {
	command Command // without arguments

	once    sync.Once
	done    chan struct{} // closed when version and err are set
	version string
	err     error

	metMinimum atomic.Pointer[string] // the minimum of the last successful RequireVersion
}

// NewProgram returns a Program, and starts nothing. c.Args go before --version.
func NewProgram(c Command) *Program { return &Program{command: c, done: make(chan struct{})} }

// Start runs codex --version in the background, unless it was started before.
func (p *Program) Start() {
	p.once.Do(func() {
		go func() { // ends within versionTimeout
			defer close(p.done)
			ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
			defer cancel()
			p.version, p.err = p.command.version(ctx)
		}()
	})
}

// Version returns the version of the program. It calls Start and waits for the result.
func (p *Program) Version(ctx context.Context) (string, error) {
	p.Start()
	select {
	case <-p.done:
		return p.version, p.err
	default:
	}
	select {
	case <-p.done:
		return p.version, p.err
	case <-ctx.Done():
		return "", fmt.Errorf("%s --version has not finished: %w", p.command.Path, context.Cause(ctx))
	}
}

// RequireVersion returns an error if the program's version is lower than minimum or unknown.
func (p *Program) RequireVersion(ctx context.Context, minimum string) error {
	if met := p.metMinimum.Load(); met != nil && *met == minimum {
		return nil
	}
	version, err := p.Version(ctx)
	if err != nil {
		return fmt.Errorf("the version of codex is unknown, and %s or later is needed: %w; run that command by hand, or name another codex with %s or codex.command", minimum, err, Env)
	}
	if err := CheckVersion(version, minimum); err != nil {
		return err
	}
	p.metMinimum.Store(&minimum)
	return nil
}

// version runs codex --version and parses its output.
//
// It runs beside the app-server, and must not share a folder with it. Measured with Codex 0.169: each
// Codex takes a lock in its folder when it starts, and goes on without it. An app-server that does not
// get the lock starts no sandboxed command.
func (c Command) version(ctx context.Context) (string, error) {
	c.Env = Environ(c.Env, map[string]string{"CODEX_HOME": os.DevNull}, nil)
	output, err := c.output(ctx, "--version")
	if err != nil {
		return "", err
	}
	version := ParseVersion(output)
	if version == "" {
		return "", fmt.Errorf("%s --version printed %q; expected a version such as \"codex-cli 0.169.0\"", c.Path, clip(output))
	}
	return version, nil
}

func clip(text string) string {
	const maxShown = 200
	return text[:min(len(text), maxShown)]
}

// CompareVersions compares two versions by their numbers; missing ones count as 0. Of two versions
// with the same numbers, one with a suffix (a pre-release or a build) is lower. Two suffixes are
// equal.
func CompareVersions(a, b string) int {
	an, arest := numbers(a)
	bn, brest := numbers(b)
	for i := range max(len(an), len(bn)) {
		var x, y int
		if i < len(an) {
			x = an[i]
		}
		if i < len(bn) {
			y = bn[i]
		}
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	switch {
	case (arest == "") == (brest == ""):
		return 0
	case arest == "":
		return 1
	}
	return -1
}

func numbers(version string) (list []int, rest string) {
	end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(version)
	}
	for part := range strings.SplitSeq(version[:end], ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list, version[end:]
}

// CheckVersion returns an error if version is lower than minimum.
func CheckVersion(version, minimum string) error {
	if CompareVersions(version, minimum) < 0 {
		return fmt.Errorf("codex is %s; %s or later is needed: update it", version, minimum)
	}
	return nil
}
