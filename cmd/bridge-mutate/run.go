package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	{"bridge/policy", "", []string{"./bridge/guard", "./relay/approvals", "./relay/handlers", "./cmd/codex-bridge"}},
	{"bridge/rules", "^(TestGrammarInRealShells|TestMutationsInRealShells|TestLinesAsCodexRunsThem|TestDeepNesting)$", []string{"./bridge/rules", "./bridge/policy", "./bridge/guard"}},
	{"bridge/userrules", "", []string{"./bridge/policy", "./bridge/guard", "./cmd/codex-bridge"}},
	{"bridge/guard", "", []string{"./bridge/hello", "./relay/approvals", "./relay/handlers", "./relay/inject", "./cmd/codex-bridge"}},
}

// endToEnd are tests with the real Codex that are run for what survives all others. Together they
// take about a minute.
var endToEnd = []string{
	"TestGateAsksForEachCall", "TestGateFollowsApprovalPolicy", "TestGateDeclines", "TestGateRemembers", "TestEarlyAnswersAreDropped", "TestEscalationDenied", "TestEscalationInCode",
	"TestSubagents", "TestSubagentsAsk", "TestUntrustedProjectIsReported", "TestProjectGitFiltersDoNotRun", "TestUserRulesLeavePatches", "TestHooksReopened", "TestTurnsUnderPolicy",
	"TestOpenThreadKeepsItsPolicy", "TestPolicyFileOfThreadFolder", "TestTurnRejectedByCodexKeepsApprovalPolicy", "TestPolicyFlags",
}

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

	oneAtATime sync.Mutex // end-to-end tests use all processors themselves
	endToEnd   *suite     // nil: not built yet
}

// prepare weaves the mutants of the target, and builds its own tests.
func (t *trial) prepare(ctx context.Context, mutants []mutant) error {
	var err error
	if t.woven, err = weavePackage(ctx, t.root, t.folder, t.target.pkg, mutants); err != nil || len(t.woven.ids) == 0 {
		return err
	}
	own, err := t.buildSuite(ctx, t.target.pkg, t.target.skip)
	t.suites = []*suite{own}
	return err
}

// suite returns the own tests for 0, else those of a wide package, or nil if it has none.
func (t *trial) suite(ctx context.Context, n int) (*suite, error) {
	t.building.Lock()
	defer t.building.Unlock()
	for len(t.suites) <= n {
		s, err := t.buildSuite(ctx, strings.TrimPrefix(t.target.wide[len(t.suites)-1], "./"), "")
		if err != nil {
			return nil, err
		}
		t.suites = append(t.suites, s)
	}
	return t.suites[n], nil
}

// buildSuite builds the tests of a package with the woven mutants.
func (t *trial) buildSuite(ctx context.Context, pkg, skip string) (*suite, error) {
	skipped, err := regexp.Compile(cmp.Or(skip, "^$"))
	if err != nil {
		return nil, err
	}
	return newSuite(ctx, t.root, t.folder, pkg, t.woven.overlay, func(name string) bool { return !skipped.MatchString(name) })
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
	return t.tryEndToEnd(ctx, id, overlay)
}

// tryEndToEnd runs the end-to-end tests that reach a mutant. id is the mutant of the woven program;
// for 0 the program is built with overlay, and all tests are run. Tests with processes may fail by
// themselves, so what fails is run again.
func (t *trial) tryEndToEnd(ctx context.Context, id int, overlay string) (outcome, error) {
	t.oneAtATime.Lock()
	defer t.oneAtATime.Unlock()
	if err := t.prepareEndToEnd(ctx); err != nil {
		return "", err
	}
	names, env := t.endToEnd.reaches[id], "BRIDGE_MUTANT="+strconv.Itoa(id)
	if id == 0 {
		alone := filepath.Join(t.folder, "alone")
		if err := buildBridge(ctx, t.root, overlay, alone); err != nil {
			return notViable, ctx.Err()
		}
		names, env = t.endToEnd.tests, "CODEX_BRIDGE_E2E_PROXY="+alone
	}
	if len(names) == 0 {
		return survived, nil
	}
	limit := 30 * time.Second
	for _, name := range names {
		limit += t.endToEnd.took[name]
	}
	if got, err := t.endToEnd.run(ctx, names, limit, env); got == survived || err != nil {
		return got, err
	}
	return t.endToEnd.run(ctx, names, limit, env)
}

// prepareEndToEnd builds the program with the woven mutants, and the end-to-end tests, and runs each
// without an active mutant. One that fails then is an error.
func (t *trial) prepareEndToEnd(ctx context.Context) error {
	if t.endToEnd != nil {
		return nil
	}
	bridge, overlay := filepath.Join(t.folder, "codex-bridge"), ""
	if len(t.woven.ids) > 0 {
		overlay = t.woven.overlay
	}
	if err := buildBridge(ctx, t.root, overlay, bridge); err != nil {
		return err
	}
	chosen := func(name string) bool { return slices.Contains(endToEnd, name) }
	env := []string{"CODEX_BRIDGE_E2E_PROXY=" + bridge, "BRIDGE_MUTANT_MEMORY=unlimited"} // V8, which is in Codex, reserves much
	s, err := newSuite(ctx, t.root, t.folder, "cmd/codex-bridge/e2e", "", chosen, env...)
	if err != nil {
		return err
	}
	if len(s.failing) > 0 {
		return fmt.Errorf("end-to-end tests fail without an active mutant: %s", strings.Join(s.failing, " "))
	}
	var sum time.Duration
	for _, took := range s.took {
		sum += took
	}
	fmt.Fprintf(os.Stderr, "%s: %d end-to-end tests take %s, one after the other\n", t.target.pkg, len(s.tests), sum.Round(time.Second))
	t.endToEnd = s
	return nil
}

func buildBridge(ctx context.Context, root, overlay, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay="+overlay, "-o", to, "./cmd/codex-bridge")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// test runs go test. Tests that build a program do so under the same GOFLAGS.
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

// testEnviron is the environment without the variables that choose wide forms of tests, such as
// CODEX_BRIDGE_WIDE.
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
