package guard

import (
	"runtime"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/rpc"
)

// secretFiles are the files with secrets of the bridge. They change with the configuration, unlike what else
// the Guard knows of the machine.
type secretFiles struct {
	files     []string
	sensitive []string // State.Sensitive with the files
	hidden    []string // State.Hidden
}

// SetSecretFiles sets the function that finds the files with secrets of the bridge, which commands must not
// read, by canonical paths. The Guard calls it now, and again for each request that opens a thread, starts a
// turn or runs a command. Call SetSecretFiles before the conversation starts.
func (g *Guard) SetSecretFiles(find func() ([]string, error)) error {
	g.findSecrets = find
	return g.updateSecrets()
}

func (g *Guard) updateSecrets() error {
	files, err := g.findSecrets()
	if known := g.secrets.Load(); err != nil || known != nil && slices.Equal(known.files, files) {
		return err
	}
	now := &secretFiles{files: files, sensitive: slices.Concat(g.world.Sensitive, files), hidden: g.world.Hidden}
	if runtime.GOOS == "windows" { // whether Codex's sandbox hides files there is not known
		now.files, now.hidden = nil, slices.Concat(now.hidden, files)
	}
	g.secrets.Store(now)
	return nil
}

// machine returns what the Guard knows of the machine, with the current files with secrets.
func (g *Guard) machine() policy.State {
	state := g.world
	if now := g.secrets.Load(); now != nil {
		state.Sensitive, state.Hidden, state.Secrets = now.sensitive, now.hidden, now.files
	}
	return state
}

// refreshSecrets finds the files with secrets again for a request that needs them. It returns a refusal if
// they can't be found.
func (g *Guard) refreshSecrets(call *bridge.ClientMessage) *rpc.Error {
	needs := slices.Contains(openRequests, call.Method) || call.Method == execMethod || call.Method == turnStart
	if g.findSecrets == nil || !needs {
		return nil
	}
	if err := g.updateSecrets(); err != nil {
		return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: call.Method, Rule: "secrets", Reason: err.Error(), Hint: "correct the file's path or its folder"})
	}
	return nil
}

const turnStart = "turn/start"

// warnUnhidden tells the user, once for each thread, that its commands can read a file that had no secret of
// the bridge when the thread opened. Codex does not change the profile of a thread that it has loaded.
func (g *Guard) warnUnhidden(call *bridge.ClientMessage, state policy.State) {
	t := state.Thread
	if call.Method != turnStart || t == nil || t.Sandbox == setting.DangerFullAccess {
		return
	}
	for _, file := range state.Secrets {
		if !slices.Contains(t.Profile.Secrets, file) && g.notices.add("secrets "+t.ID) {
			g.log.Warn("commands of an open thread can read a secret of the bridge", "file", file, "thread", t.ID, "hint", "start another thread")
			g.warnThread(t.ID, "codex-bridge can't hide "+display.Quote(file)+" from the commands of this thread, because a secret of the bridge has come into the file since the thread was opened. Start another thread, and change the secret if a command may have read it.")
		}
	}
}
