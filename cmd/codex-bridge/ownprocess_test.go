//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const (
	// inOwnProcessEnv is set in the process of a test that runs apart.
	inOwnProcessEnv = "CODEX_BRIDGE_TEST_APART"
	// firstCaseEnv is the number of the first case that the process plays.
	firstCaseEnv = "CODEX_BRIDGE_TEST_FIRST_CASE"
)

// inOwnProcess runs the test in its own process, shows its subtests as those of this test, and
// reports whether it did. A proxy reaps all children of its process, those of other tests too. If a
// case ends the process, another process plays the cases after it.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inOwnProcessEnv) != "" {
		return false
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all testCount
	for first := 0; ; {
		args := []string{"-test.run=^" + t.Name() + "$", "-test.count=1", "-test.v=test2json"}
		if os.Getenv(withoutFeature) != "" {
			args = append(args, "-test.failfast")
		}
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Env = append(os.Environ(), inOwnProcessEnv+"=1", firstCaseEnv+"="+strconv.Itoa(first))
		out, err := cmd.CombinedOutput()
		results := readResults(string(out))
		last := -1
		for _, r := range results {
			r.show(t)
			all.add(r)
			last = max(last, r.number)
		}
		var exit *exec.ExitError
		panicked := errors.As(err, &exit) && exit.ExitCode() != 1 // 1: tests failed
		switch {
		case panicked && len(results) > 0:
			t.Errorf("%v\n%s", err, &results[0].output)
		case err != nil && !t.Failed():
			t.Errorf("%v\n%s", err, out)
		}
		if !panicked || last < first || os.Getenv(withoutFeature) != "" {
			break
		}
		first = last + 1
	}
	if all.cases > 0 {
		t.Log(all)
	}
	return true
}

// testResult is the result of a test or a subtest in the output of another process.
type testResult struct {
	name, status string // status is PASS, FAIL or SKIP; "" if the process ended first
	number       int    // of the case; -1 if the subtest is none
	leftOut      bool   // the case is left out by a row of DEVIATIONS.md
	output       strings.Builder
}

// readResults reads the output of a test process with -test.v=test2json, in which a control
// character is before each line of the test framework.
func readResults(out string) (all []*testResult) {
	byName := make(map[string]*testResult)
	var current *testResult
	for part := range strings.SplitSeq(strings.NewReplacer("\x0e", "", "\x0f", "").Replace(out), "\x16") {
		line, rest, _ := strings.Cut(part, "\n")
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "===" && words[0] != "---" {
			if current != nil {
				current.output.WriteString(part)
			}
			continue
		}
		name := words[2]
		if byName[name] == nil {
			byName[name] = &testResult{name: name, number: -1}
			all = append(all, byName[name])
		}
		current = byName[name]
		switch words[1] {
		case "PASS:", "FAIL:", "SKIP:":
			current.status = strings.TrimSuffix(words[1], ":")
		case "ATTR":
			switch key, value := words[3], words[4]; key {
			case caseAttr:
				current.number, _ = strconv.Atoi(value)
			case leftOutAttr:
				current.leftOut = true
			}
		}
		current.output.WriteString(rest)
	}
	return all
}

// show shows the result as a subtest of t; that of the test itself is t's own.
func (r *testResult) show(t *testing.T) {
	report := func(t *testing.T) {
		output := strings.TrimSpace(r.output.String())
		switch {
		case r.status == "":
			t.Errorf("the process ended during this test:\n%s", output)
		case r.status == "FAIL":
			t.Error(output)
		case output != "":
			t.Log(output)
		}
	}
	if _, below, isSubtest := strings.Cut(r.name, "/"); isSubtest {
		t.Run(below, report)
	}
}

// testCount counts the cases of a test.
type testCount struct{ cases, leftOut, failed int }

func (n *testCount) add(r *testResult) {
	if r.number < 0 {
		return
	}
	n.cases++
	if r.leftOut {
		n.leftOut++
	}
	if r.status != "PASS" {
		n.failed++
	}
}

// String implements fmt.Stringer.
func (n testCount) String() string {
	return fmt.Sprintf("%d cases: %d judged, of which %d failed; %d left out by DEVIATIONS.md", n.cases, n.cases-n.leftOut, n.failed, n.leftOut)
}
