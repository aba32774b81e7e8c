package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// target is a package whose mutants are tried, and the tests that try them.
type target struct {
	pkg  string
	skip string   // tests of the package that are too slow to run for each mutant
	wide []string // packages whose tests are run for what survives the package's own
}

var targets = []target{
	{"rpc", "^TestPumpLongLines$", []string{"./rpc", "./bridge", "./bridge/policy", "./bridge/guard"}},
	{"bridge/policy", "", []string{"./bridge/guard", "./relay/approvals", "./relay/gate", "./cmd/codex-bridge"}},
	{"bridge/rules", "^(TestGrammarInRealShells|TestMutationsInRealShells|TestLinesAsCodexRunsThem|TestDeepNesting)$", []string{"./bridge/rules", "./bridge/policy", "./bridge/guard"}},
	{"bridge/userrules", "", []string{"./bridge/policy", "./bridge/guard", "./cmd/codex-bridge"}},
	{"bridge/guard", "", []string{"./bridge/hello", "./relay/approvals", "./relay/gate", "./relay/inject", "./cmd/codex-bridge"}},
}

// endToEnd are tests with the real codex that are run for what survives all others.
const endToEnd = "^(TestAnswers|TestEscalationDenied|TestEscalationInCode|TestGate|TestHooksRules|TestPatches|TestPolicy|TestSubagents|TestTrust|TestUserRules)$"

// outcome is what became of a mutant.
type outcome string

const (
	killed    outcome = "killed"
	timedOut  outcome = "timeout" // twice: it does not come to an end
	survived  outcome = "survived"
	notViable outcome = "not viable" // it does not compile
)

// depth says which tests are run for a mutant that the ones before have not noticed.
type depth string

const (
	ownTests  depth = "own"  // of the package
	wideTests depth = "wide" // and of those that use it
	allTests  depth = "e2e"  // and end-to-end tests
)

// trial tries mutants of a target.
type trial struct {
	root    string // of the module
	target  target
	longest time.Duration // that the package's own tests take without a change, and more
	depth   depth
	woven   *woven   // nil: none is woven
	suites  []*suite // of woven: the package's own tests, then those of target.wide as they are needed
	folder  string   // of the programs of the suites

	building sync.Mutex // guards suites

	checked sync.Once // that the end-to-end tests pass without a mutant
	broken  error     // why they do not
}

// prepare weaves the mutants of the target, and builds its own tests.
func (t *trial) prepare(ctx context.Context, mutants []mutant) error {
	var err error
	if t.woven, err = weavePackage(ctx, t.root, t.folder, t.target.pkg, mutants); err != nil || len(t.woven.ids) == 0 {
		return err
	}
	own, err := t.woven.buildSuite(ctx, t.folder, t.target.pkg, t.target.skip)
	t.suites = []*suite{own}
	return err
}

// suite returns the own tests for 0, else those of a wide package, or nil if it has none.
func (t *trial) suite(ctx context.Context, n int) (*suite, error) {
	t.building.Lock()
	defer t.building.Unlock()
	for len(t.suites) <= n {
		s, err := t.woven.buildSuite(ctx, t.folder, strings.TrimPrefix(t.target.wide[len(t.suites)-1], "./"), "")
		if err != nil {
			return nil, err
		}
		t.suites = append(t.suites, s)
	}
	return t.suites[n], nil
}

// try runs the tests with the mutant, the quickest first.
func (t *trial) try(ctx context.Context, m mutant) (outcome, error) {
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	file, overlay := filepath.Join(folder, "mutant.go"), filepath.Join(folder, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(t.root, filepath.FromSlash(m.File)): file}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(file, m.content, 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return "", err
	}
	const wide = 10 * time.Minute
	packages := append([]string{"./" + t.target.pkg}, t.target.wide...)
	if t.depth == ownTests {
		packages = packages[:1]
	}
	id := 0
	if t.woven != nil {
		id = t.woven.ids[m.place()]
	}
	for i, pkg := range packages {
		args := []string{pkg}
		if i == 0 && t.target.skip != "" {
			args = append(args, "-skip", t.target.skip)
		}
		if id != 0 {
			s, err := t.suite(ctx, i)
			if err != nil {
				return "", err
			}
			if s == nil {
				continue
			}
			if got, err := s.try(ctx, id); got != survived || err != nil {
				return got, err
			}
			if len(s.failing) == 0 {
				continue
			}
			args = []string{pkg, "-run", "^(" + strings.Join(s.failing, "|") + ")$"}
		}
		within := wide
		if i == 0 {
			within = t.longest
		}
		got, err := t.test(ctx, overlay, within, args...)
		if got == timedOut && i == 0 { // the machine may have been busy
			got, err = t.test(ctx, overlay, 3*within, args...)
		}
		if got != survived || err != nil {
			return got, err
		}
	}
	if t.depth != allTests {
		return survived, nil
	}
	// The program under test is no part of the test program, by which go knows what it has tested.
	endToEndTests := []string{"./cmd/codex-bridge/e2e", "-count=1", "-run", endToEnd}
	t.checked.Do(func() {
		if got, err := t.test(ctx, "", wide, endToEndTests...); got != survived || err != nil {
			t.broken = errors.Join(err, errors.New("the end-to-end tests fail without any change: "+string(got)))
		}
	})
	if t.broken != nil {
		return "", t.broken
	}
	return t.test(ctx, overlay, wide, endToEndTests...)
}

// test runs go test. The end-to-end tests build the program under the same GOFLAGS.
func (t *trial) test(ctx context.Context, overlay string, within time.Duration, args ...string) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off", "-failfast", "-timeout", within.String()}, args...)...)
	cmd.Dir = t.root
	cmd.Env = testEnviron()
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+overlay)
	}
	return outcomeOf(ctx, cmd)
}

// testEnviron is the environment without the variables that choose wide forms of tests, such as CODEX_BRIDGE_WIDE.
func testEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CODEX_BRIDGE_") })
}

// outcomeOf runs tests in a process group of their own, which it ends with ctx.
func outcomeOf(ctx context.Context, cmd *exec.Cmd) (outcome, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), strings.Contains(out.String(), "panic: test timed out"):
		return timedOut, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return survived, nil
	case !errors.As(err, &exit):
		return "", err
	case strings.Contains(out.String(), "[build failed]"), strings.Contains(out.String(), "[setup failed]"):
		return notViable, nil
	case exit.ExitCode() < 0: // a signal: the limit of processor time
		return timedOut, nil
	}
	return killed, nil
}
