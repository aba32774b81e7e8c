package policy_test

import (
	"errors"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// dangling is a file system in which links to missing files have no canonical path.
type dangling struct {
	links
	missing string // a link to a missing file
}

func (d dangling) Canonical(p string) (string, error) {
	if p == d.missing {
		return "", errors.New("the target of the link is missing")
	}
	return d.links.Canonical(p)
}

func (d dangling) Readings(p string) ([]string, error) {
	if p == d.missing {
		return []string{p}, errors.New("the target of the link is missing")
	}
	if p == "/code/proj/any" {
		return nil, policy.PathError("it depends on the process")
	}
	return d.links.Readings(p)
}

// Follow fails for /code/proj/any, which leads each process elsewhere.
func (d dangling) Follow(p string) (string, error) {
	if p == "/code/proj/any" {
		return "", policy.PathError("it depends on the process")
	}
	return d.links.Follow(p)
}

// TestLinesThroughLinks checks that a line leaves the sandbox if it changes a protected path through
// a link of the workspace, in each way in which a shell and the kernel read a path.
func TestLinesThroughLinks(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".git", ".github/workflows"}
	p := compile(t, cfg)
	paths := dangling{links{
		"/code/proj/to":                 "sub/.github",
		"/code/proj/deep":               "sub/.github/x",
		"/code/proj/sub/.github/l":      "/code/proj/sub/other",
		"/code/proj/gone":               "sub/.github/workflows/N",
		"/code/proj/.codex-bridge.toml": "sub/policy.toml",
		"/code/proj/loop":               "loop",
		"/code/proj/hooks":              "sub/.git/hooks",
	}, "/code/proj/gone"}
	file := func(size int) string { // a file below the link, with a path of that many bytes
		path := "/code/proj/to/workflows" + strings.Repeat("/"+strings.Repeat("a", 99), 1+size/100)
		return path[:size-2] + "/b"
	}
	for line, denied := range map[string]bool{
		"touch to/workflows/N":                          true,
		"cd to; touch workflows/N":                      true,
		"touch deep/../workflows/N":                     true,
		"cd deep; touch ../workflows/N":                 true,
		"cd -P deep/..; touch workflows/N":              true,
		"cd -P deep/..; cd l; cd ..; touch workflows/N": true, // to/l is a link, too
		"touch gone":                true,
		"rm .codex-bridge.toml":     true, // a link
		"rm sub/.codex-bridge.toml": false,
		"touch loop":                false,
		"cd loop; touch N":          false, // no shell can change to it
		"cd any; touch N":           true,
		"touch to/workflows/$x":     true,
		"cp a to/workf*":            true,
		"cp a deep/../workf*":       true,
		"cp a \"to/workflows$x\"":   true,
		"touch to/$x/N":             false, // only the spelled parts count
		"touch lin*/workflows":      false,
		"touch deep/workf*":         false,
		"touch hooks/$x":            false, // a computed path in .git, which Codex protects
		"touch hooks/x":             true,
		"touch to/N":                false,
		"touch deep/N":              false,
		"touch to/../workflows/N deep/../../workflows/N":          false,
		"touch sub/../workflows/N":                                false,
		"touch " + file(8192):                                     true,
		"touch " + file(8193):                                     true, // the line may be in one of its folders
		"rm -rf \"$out/.github/x\" \"/code/proj/$out/workflows\"": false,
	} {
		if d := decideLineIn(t, p, paths, line); (d.Verdict == policy.Deny) != denied {
			t.Errorf("%.60q: %v, %v", line, d.Verdict, d.Err)
		}
	}
}
