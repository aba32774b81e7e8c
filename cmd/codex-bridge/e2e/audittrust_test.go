//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Under audit a thread makes Codex trust and load the repository, as without the bridge. Under enforce that
// trust does not count until the user says so, and doctor says it. Trust from before audit counts.
func TestTrustOfAuditDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n"})
	w.writeFiles("hostile", repositoryFiles, hostile)
	w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.root+"/before\"]\ntrust_level = \"trusted\"\n")
	policy := "approval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", \"" + w.root + "\"]\n"
	open := func(mode string) (loaded bool) {
		w.write("config.toml", "[policy]\nmode = \""+mode+"\"\n"+policy)
		marker := filepath.Join(w.root, "marker-server")
		if err := os.RemoveAll(marker); err != nil {
			t.Fatal(err)
		}
		c := w.open(proxyArgv...)
		c.initialize(nil)
		thread, _ := start("hostile")(c, "")
		c.runTurn(thread, "good day")
		c.closeAndWait()
		return w.hasFile("marker-server")
	}
	if !open("audit") || !strings.Contains(w.read("home/config.toml"), w.root+"/hostile") {
		t.Fatal("under audit Codex trusts the repository by itself, and loads it")
	}
	if open("enforce") {
		t.Error("the trust that Codex stored under audit counts under enforce")
	}
	stdout, _, _ := w.execute(proxyPath, "", "doctor", "--json") // not wrapped
	for _, want := range []string{
		"trusted projects, from before the policy or added by you to " + w.home + "/codex-bridge-trust.toml: " + w.root + `/before"`,
		"stored as trusted by Codex while the policy was not enforced, so they do not count: " + w.root + `/hostile"`,
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("doctor lacks %q:\n%s", want, stdout)
		}
	}
	w.write("home/codex-bridge-trust.toml", strings.Replace(w.read("home/codex-bridge-trust.toml"), "[", "[ \""+w.root+"/hostile\",", 1))
	if !open("enforce") {
		t.Error("a project that the user has added does not count")
	}
	w.write("home/codex-bridge-trust.toml", "trusted = [")
	if open("enforce") {
		t.Error("with an invalid list a project counts")
	}
}
