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

// ConfiguredFiles are files that the configuration names. They change with it, unlike what else the Guard
// knows of the machine.
type ConfiguredFiles struct {
	Secrets  []string // files with secrets of the bridge, by canonical paths; commands must not read them
	Programs []string // programs that run outside the sandbox, by absolute paths
	Scripts  []string // see policy.State.Scripts
}

// machineFiles are ConfiguredFiles and the parts of policy.State that have them.
type machineFiles struct {
	ConfiguredFiles
	state policy.State
}

// SetConfiguredFiles sets the function that finds the files. The Guard calls it now, and again for each
// request that opens a thread, starts a turn or runs a command. Call SetConfiguredFiles before the
// conversation starts.
func (g *Guard) SetConfiguredFiles(find func() (ConfiguredFiles, error)) error {
	g.findFiles = find
	return g.updateFiles()
}

func (g *Guard) updateFiles() error {
	files, err := g.findFiles()
	if err != nil {
		return err
	}
	if known := g.files.Load(); known != nil && slices.Equal(known.Secrets, files.Secrets) && slices.Equal(known.Programs, files.Programs) && slices.Equal(known.Scripts, files.Scripts) {
		return nil
	}
	now := &machineFiles{files, policy.State{
		Sensitive: slices.Concat(g.world.Sensitive, files.Secrets), Hidden: g.world.Hidden, Secrets: files.Secrets,
		Programs: slices.Clone(g.world.Programs), Links: slices.Clone(g.world.Links), Scripts: files.Scripts,
	}}
	AddPrograms(&now.state, files.Programs...)
	if runtime.GOOS == "windows" { // whether Codex's sandbox hides files there is not known
		now.state.Secrets, now.state.Hidden = nil, slices.Concat(now.state.Hidden, files.Secrets)
	}
	g.files.Store(now)
	return nil
}

// machine returns what the Guard knows of the machine, with the current files of the configuration.
func (g *Guard) machine() policy.State {
	state := g.world
	if now := g.files.Load(); now != nil {
		state.Sensitive, state.Hidden, state.Secrets = now.state.Sensitive, now.state.Hidden, now.state.Secrets
		state.Programs, state.Links, state.Scripts = now.state.Programs, now.state.Links, now.state.Scripts
	}
	return state
}

// refreshFiles finds the files of the configuration again for a request that needs them. It returns a refusal
// if a file with a secret can't be found.
func (g *Guard) refreshFiles(call *bridge.ClientMessage) *rpc.Error {
	needs := slices.Contains(openRequests, call.Method) || call.Method == execMethod || call.Method == turnStart
	if g.findFiles == nil || !needs {
		return nil
	}
	if err := g.updateFiles(); err != nil {
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
