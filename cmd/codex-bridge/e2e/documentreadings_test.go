//go:build linux

package e2e_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/scripted"
)

// reading runs the commands of a document, in its order and in one shell, as a reader pastes them.
type reading struct {
	document string
	needs    func(*reader)     // prepares what the document supposes; nil: nothing
	before   string            // shell commands that do the same
	here     []string          // pairs: an address or placeholder of the document, and what it is here
	until    map[string]string // commands that a user stops, and the shell condition for it
	after    string            // shell commands that must succeed then
	managed  bool              // /etc, /usr/local/bin and /var/lib are folders of the reader's own
}

// sentencesRow is the name of the reading of all commands in sentences.
const sentencesRow = "sentences"

// readings are those of all documents with commands, the longest first.
var readings = []reading{
	{document: "docs/guides/team.md", needs: forTeam, managed: true,
		before: "codex-bridge policy publish --repo early --root-key root.key --key policy.key --new-keys policy && codex-bridge run --session s hello"},
	{document: "README.md", needs: inClone, here: makeWithoutBuilding},
	{document: "CONTRIBUTING.md", needs: func(r *reader) { r.folder = repositoryRoot(r.t) }, here: append(makeWithoutBuilding, "go test", "go list")},
	{document: "docs/guides/install.md", needs: inClone, here: makeWithoutBuilding},
	{document: "packaging/npm/README.md"},
	{document: "docs/guides/first-policy.md", needs: func(r *reader) { r.write("workspace/cases.toml", r.block("# cases.toml")) }},
	{document: "docs/guides/editors.md", before: "install -D -m 0755 " + `"$(command -v codex-bridge)" ~/.local/bin/codex-bridge`, after: "~/bin/codex --version"},
	{document: "docs/guides/tools.md", needs: func(r *reader) {
		r.configure(r.profile("careful") + r.block("[tools.lookup_ticket]"))
		r.program("user/.config/codex-bridge/tools/ticket", `sed 's/.*"\(A-.*\)".*/The ticket \1 is open./'`)
	}},
	{document: "docs/guides/agents.md", needs: func(r *reader) {
		r.configure(r.profile("careful") + r.block("[acp]"))
		r.writeImages()
		r.answers("Say in one line what this project does.", scripted.Text("A proxy between an editor and Codex that enforces a policy."))
		r.answers("What has changed?", scripted.Text("The button is green now, and the second column is gone."))
	}, before: "mv picture.png before.png && mv photo.dat after.png"},
	{document: "docs/guides/clients.md", needs: func(r *reader) {
		inClone(r)
		r.answers("make a file named hello", scripted.Run("touch hello"))
		r.answers("Output:", scripted.Text("It is there."))
	}, before: "codex-bridge init"},
	{document: "docs/guides/conversations.md", needs: func(r *reader) {
		r.configure(r.profile("team") + r.block("[transcript]") + r.block("[trace]"))
		r.answers("Are the tests green?", scripted.Run("go test ./..."))
		r.answers("Output:", scripted.Text("All 214 tests are green."))
	}, before: `codex-bridge run --session chat/1 "It fails now and then in the buffer."
git init -q . && echo new >file && git add -N file
THREAD=$(codex-bridge trace list | sed -n 's/^\([0-9a-f-]*\) .*/\1/p') && [ -n "$THREAD" ]`,
		here:  []string{"THREAD", `"$THREAD"`},
		until: map[string]string{"codex-bridge trace show THREAD --follow": "[ -s out ]"}},
	{document: "docs/guides/programs.md"},
	{document: "docs/guides/recipes.md", here: []string{"/var/lib/ci", "$HOME/ci"}, before: "mkdir -p ~/ci && cp -R ~/.codex ~/ci/codex"},
	{document: "docs/guides/approvals.md", needs: waitForTwo,
		before: `GRANT=$(codex-bridge grants list --json | sed -n 's/.*"id": "\(.*\)".*/\1/p' | head -n 1)
HEAD=$(codex-bridge decisions verify --json | sed -n 's/.*"head": "\(.*\)".*/\1/p')
[ -n "$GRANT" ] && [ -n "$HEAD" ]`,
		here: []string{"grants revoke ID", "grants revoke $GRANT", "answer ID", "answer $REQUEST", "649b82feac838055eac2aa8a0e889a0bd4cee10ca3febb1ae797e39fda158746:2", "$HEAD"}},
	{document: "docs/guides/serve.md", needs: func(r *reader) { r.configure(r.profile("team") + "[serve]\ncontrol_socket = true\n") },
		before: "mkdir -m 0700 ~/run", here: []string{"/run/user/1000/", "$HOME/run/", ":4500", ":0"},
		until: map[string]string{"codex-bridge serve --listen unix:///run/user/1000/codex.sock --listen ws://127.0.0.1:4500": "[ -S ~/run/codex.sock ]"},
		after: "codex-bridge app-server daemon version && codex-bridge app-server daemon stop"},
	{document: "editors/nvim/README.md", needs: inClone,
		here:  []string{"nvim +", "nvim --headless +", "checkhealth codex-bridge'", "checkhealth codex-bridge' +'write health.txt' +qall"},
		after: "! grep -n -e ERROR -e WARN health.txt && grep OK health.txt"},
	{document: "cmd/codex-bridge/internal/cli/init/careful.toml", managed: true, after: "codex-bridge doctor"},
	{document: "cmd/codex-bridge/internal/cli/init/team.toml", managed: true},
	{document: "cmd/codex-bridge/internal/cli/init/read-only.toml", managed: true},
	{document: "cmd/codex-bridge/internal/cli/init/locked.toml", managed: true},
	{document: sentencesRow, here: []string{"policy explain --json", "policy explain --json <message.json", "help COMMAND", "help doctor"},
		before: `echo '{"id":1,"method":"thread/start","params":{}}' >message.json`},
}

// makeWithoutBuilding only looks at what make would do: the targets install and build for minutes, and this test
// is a part of them.
var makeWithoutBuilding = []string{"make ", "make --dry-run "}

// notRun has the commands that a test can't run as they stand, and why.
var notRun = map[[2]string]string{
	{"README.md", "npm install -g @openai/codex"}:                                                                                needsNetwork,
	{"packaging/npm/README.md", "npm install -g codex-bridge @openai/codex"}:                                                     needsNetwork,
	{"docs/guides/editors.md", "npm install -g @agentclientprotocol/codex-acp"}:                                                  needsNetwork,
	{"docs/guides/editors.md", "cd editors/vscode && npm ci --ignore-scripts && npm run package"}:                                needsNetwork + "; the tests with VS Code use what it builds",
	{"editors/vscode/README.md", "npm ci --ignore-scripts && npm run package"}:                                                   needsNetwork + "; the tests with VS Code use what it builds",
	{"docs/guides/editors.md", "code --install-extension dist/codex-bridge.vsix"}:                                                needsEditor,
	{"editors/vscode/README.md", "code --install-extension dist/codex-bridge.vsix"}:                                              needsEditor,
	{"docs/guides/install.md", "npm install -g codex-bridge"}:                                                                    needsRelease,
	{"docs/guides/install.md", "dpkg -i codex-bridge_VERSION_amd64.deb"}:                                                         needsRelease,
	{"docs/guides/install.md", "rpm -i codex-bridge-VERSION-1.x86_64.rpm"}:                                                       needsRelease,
	{"docs/guides/install.md", "apk add --allow-untrusted codex-bridge_VERSION_x86_64.apk"}:                                      needsRelease,
	{"docs/guides/install.md", "minisign -Vm checksums.txt -p codex-bridge.pub &&\nsha256sum --ignore-missing -c checksums.txt"}: needsRelease,
	{"docs/guides/install.md", "gh attestation verify FILE --repo OWNER/codex-bridge"}:                                           needsRelease,
	{"docs/guides/install.md", "npm audit signatures"}:                                                                           needsRelease,
	{"docs/guides/serve.md", "codex --remote unix:///run/user/1000/codex.sock"}:                                                  needsTerminal,
	{"docs/guides/team.md", "docker run -d -p 127.0.0.1:5433:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres"}:                  needsNetwork,
	{"docs/guides/team.md", "docker run -d -p 127.0.0.1:3000:3000 -p 127.0.0.1:4318:4318 grafana/otel-lgtm"}:                     needsNetwork,
	{"docs/guides/team.md", "sudo npm install -g @openai/codex@" + methods.Measured}:                                             needsNetwork,
	{"docs/guides/team.md", "codex-bridge codex check --codex /path/to/new/codex"}:                                               runsItself,
	{"docs/guides/team.md", "codex-bridge methods diff --codex /path/to/new/codex"}:                                              runsItself,
	{"testdata/ocsf/README.md", "python3 compile.py ocsf-schema 1.8.0 events/application/api_activity.json security_control"}:    needsNetwork,
	{"testdata/vectors/README.md", "CODEX_BRIDGE_VECTORS=/path/to/folder go test -v -count=1 -run Vectors ./cmd/codex-bridge"}:   "these tests run by themselves, with the folder in the repository",
	{sentencesRow, "codex-bridge app-server …"}:                                                                                  isMention,
	{sentencesRow, "codex-bridge exec"}:                                                                                          isMention,
	{sentencesRow, "codex-bridge hook"}:                                                                                          isMention,
	{sentencesRow, "codex-bridge decisions ship"}:                                                                                "it needs a fleet log; TestTeamGuide has one",
	{sentencesRow, "codex-bridge policy explain"}:                                                                                isMention,
	{sentencesRow, "codex-bridge policy test"}:                                                                                   isMention,
	{sentencesRow, "codex-bridge run"}:                                                                                           isMention,
	{sentencesRow, "codex-bridge methods"}:                                                                                       isMention,
	{sentencesRow, "codex-bridge methods diff"}:                                                                                  isMention,
	{sentencesRow, "codex-bridge codex check"}:                                                                                   isMention,
	{sentencesRow, "codex-bridge resume"}:                                                                                        needsTerminal,
	{sentencesRow, "codex-bridge serve"}:                                                                                         isMention,
}

// Why commands do not run.
const (
	needsEditor   = "it starts an editor on a desktop"
	needsNetwork  = "it downloads packages"
	needsRelease  = "it needs a published release; make release-try installs one from files"
	needsTerminal = "it opens Codex's terminal interface, which the tests of the terminal do"
	runsItself    = "it takes a minute; TestCheckedCodexIsNotReported and TestScripts run it"
	isMention     = "the sentence names it, and does not tell the reader to run it"
)

// commands returns the commands that a reading runs.
func (r reading) commands(t *testing.T) (commands []documentCommand) {
	t.Helper()
	if r.document != sentencesRow {
		commands, _ = documentCommands(t, r.document)
		return commands
	}
	known, all := map[string]bool{}, map[string][]string{}
	names := documents(t)
	for _, name := range names {
		blocks, sentences := documentCommands(t, name)
		all[name] = sentences
		for _, command := range blocks {
			known[command.text] = true
		}
	}
	for _, name := range names {
		for _, text := range all[name] {
			if !known[text] {
				commands = append(commands, documentCommand{text: text})
			}
			known[text] = true
		}
	}
	return commands
}

// inClone runs the commands in a folder like a clone, with a program as make builds it.
func inClone(r *reader) {
	r.t.Helper()
	r.folder = filepath.Join(r.root, "clone")
	root := repositoryRoot(r.t)
	r.must(os.MkdirAll(filepath.Join(r.folder, "bin"), 0o700))
	r.must(os.Symlink(proxyPath, filepath.Join(r.folder, "bin", "codex-bridge")))
	entries, err := os.ReadDir(root)
	r.must(err)
	for _, entry := range entries {
		if name := entry.Name(); name != "bin" && name != "editors" && name != ".git" {
			r.must(os.Symlink(filepath.Join(root, name), filepath.Join(r.folder, name)))
		}
	}
	for _, name := range []string{"minimal", "nvim"} { // which commands write
		r.must(os.CopyFS(filepath.Join(r.folder, "editors", name), os.DirFS(filepath.Join(root, "editors", name))))
	}
	r.must(os.Symlink(filepath.Join(root, "editors", "vscode"), filepath.Join(r.folder, "editors", "vscode")))
}

// waitForTwo starts a turn whose command waits for a second person, and remembers an answer.
func waitForTwo(r *reader) {
	r.t.Helper()
	keys := filepath.Join(r.root, "user", ".ssh")
	r.must(os.Mkdir(keys, 0o700))
	runner, _ := sshKey(r.t, keys, "runner")
	approver, _ := sshKey(r.t, keys, "id_ed25519")
	r.configure(deskConfig(runner, approver, "5m"))
	r.addGrant("true")
	a := r.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, "RUN: mkdir made")
	a.waitUntil("a request for a second person", func() bool { return len(a.waiting()) == 1 })
	r.env = append(r.env, "REQUEST="+a.waiting()[0].ID)
	r.done = func() {
		a.waitTurn(thread, turn, mark)
		a.checkPresent("made")
		a.closeAndWait()
	}
}

// forTeam prepares what the guide for teams has: a database, files of an update, a repository of policies.
func forTeam(r *reader) {
	r.t.Helper()
	address, err := url.Parse(postgresDatabase(r.t))
	r.must(err)
	socket := address.Query().Get("host")
	for _, folder := range []string{filepath.Dir(socket), socket} { // the reader's root is another user than that of the server
		r.must(os.Chmod(folder, 0o755))
	}
	database := "postgres://bridge@" + address.Path + "?host=" + socket
	r.here = append(r.here,
		"postgres://owner@db.example.com/fleet", database, "psql -h db.example.com -U owner fleet", "psql '"+database+"'",
		"postgres://auditors@db.example.com/fleet", "'"+strings.Replace(database, "bridge@", "auditors@", 1)+"'")
	r.configure("[policy]\n") // so that there are decisions
	r.write("workspace/policy/policy.toml", "[policy]\nsandbox = \"workspace-write\"\n")
	r.write("workspace/new.toml", "[policy]\nsandbox = \"read-only\"\n")
	r.write("workspace/old.toml", "[policy]\n")
	r.must(os.Mkdir(filepath.Join(r.workspace, "old"), 0o700))
	for _, name := range []string{"codex-bridge", "old/codex-bridge"} {
		r.must(os.Symlink(proxyPath, filepath.Join(r.workspace, name)))
	}
}
