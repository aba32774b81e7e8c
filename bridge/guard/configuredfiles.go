package guard

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
	Governs  []string // files that decide which messages pass, by absolute paths; commands must not write them or links to them
}

// AddTo adds the files to what a policy knows of the machine.
func (f ConfiguredFiles) AddTo(state *policy.State) {
	state.Sensitive = slices.Concat(state.Sensitive, f.Secrets)
	for _, file := range f.Governs {
		state.Sensitive = append(state.Sensitive, placesOf(file)...)
	}
	state.Programs, state.Links = slices.Clone(state.Programs), slices.Clone(state.Links)
	AddPrograms(state, f.Programs...)
	state.Scripts = f.Scripts
	if runtime.GOOS == "windows" { // whether Codex's sandbox hides files there is not known
		state.Hidden = slices.Concat(state.Hidden, f.Secrets)
		return
	}
	state.Secrets = f.Secrets
}

// configuredState is what the Guard knows of the machine with the files of the configuration.
type configuredState struct {
	find    func() (ConfiguredFiles, error) // set by SetConfiguredFiles; nil: there are none
	mu      sync.Mutex                      // held while the files are found, so that the last search counts
	current atomic.Pointer[policy.State]    // nil before the first search
}

// SetConfiguredFiles sets the function that finds the files. The Guard calls it now, and again for each
// request that opens a thread, starts a turn or runs a command. Call SetConfiguredFiles before the
// conversation starts.
func (g *Guard) SetConfiguredFiles(find func() (ConfiguredFiles, error)) error {
	g.configured.find = find
	return g.updateFiles()
}

// updateFiles finds the files again. After an error, the files of the last search count.
func (g *Guard) updateFiles() error {
	g.configured.mu.Lock()
	defer g.configured.mu.Unlock()
	files, err := g.configured.find()
	if err != nil {
		return err
	}
	state := g.world
	files.AddTo(&state)
	g.configured.current.Store(&state)
	return nil
}

// refreshFiles finds the files of the configuration again for a request that needs them. It returns a refusal
// if a file with a secret can't be found.
func (g *Guard) refreshFiles(call *bridge.ClientMessage) *rpc.Error {
	needs := slices.Contains(openRequests, call.Method) || call.Method == execMethod || call.Method == turnStart
	if g.configured.find == nil || !needs {
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
