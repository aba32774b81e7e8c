// Package demo is `codex-bridge demo`: a conversation between a test editor and the real Codex,
// through the bridge under a sample policy, with explanations. The model is scripted, so the demo
// needs no account and no network. The bridge and Codex are the real programs, started as an editor
// starts them. Run must not be called concurrently.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// Policy is the configuration file of the demo.
const Policy = `[policy]
mode = "enforce"
sandbox = "read-only"
approval = ["untrusted", "on-request"]

[[policy.rule]]
tool = "shell"
command = "git push **"
decision = "deny"
reason = "` + ruleReason + `."
`

// ruleReason is what the model reads about a command that the rule denies.
const ruleReason = "Pushing is done by people"

// Options of a demo.
type Options struct {
	Bridge string // this program
	Codex  string // the real codex
	Out    io.Writer
	Color  bool
	All    bool // all scenes, not only those in brief
}

// scene is one part of the demo.
type scene struct {
	title   string
	play    func(context.Context, *stage) error
	inBrief bool
}

// Run plays the scenes and removes its temporary files.
func Run(ctx context.Context, o Options) (err error) {
	s, err := build(o)
	if s != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	if err != nil {
		return err
	}
	s.say("codex-bridge stands between an editor and codex. Your policy limits what the editor and the model may do, commands ask you first, and each change, refusal and approval is on record. You see it with the real codex (%s) and a scripted model, without a network. The policy:", s.version)
	s.block(Policy)
	for _, scene := range scenes {
		if !scene.inBrief && !o.All {
			continue
		}
		s.played++
		s.title(s.played, scene.title)
		if err := scene.play(ctx, s); err != nil {
			return fmt.Errorf("scene %d (%s): %w", s.played, scene.title, err)
		}
	}
	return s.printSummary(ctx)
}

// stage has the state that the scenes share.
type stage struct {
	o      Options
	folder string   // has all files; removed at the end
	work   string   // the user's project
	env    []string // of the bridge
	model  *scripted.Server
	editor *editor.Editor

	version     string
	thread      string
	endedThread string // of a conversation that has ended
	played      int    // scenes
}

func build(o Options) (*stage, error) {
	folder, err := scripted.Folder("codex-bridge-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{o: o, folder: folder, work: filepath.Join(folder, "project")}
	home, conf := filepath.Join(folder, "codex"), filepath.Join(folder, "codex-bridge.toml")
	if err := errors.Join(os.Mkdir(s.work, 0o700), os.WriteFile(conf, []byte(Policy+recordSettings+"\n"+toolSettings(o.Codex)+agentSettings(o.Codex)), 0o600)); err != nil {
		return s, err
	}
	if s.model, err = scripted.Start(nil); err != nil {
		return s, fmt.Errorf("the scripted model can't listen: %w; the demo needs a free port on 127.0.0.1", err)
	}
	if err := checkModel(s.model.URL()); err != nil {
		return s, fmt.Errorf("the scripted model can't be reached: %w; the demo needs the loopback interface (127.0.0.1)", err)
	}
	if err := scripted.Home(home, s.model.URL(), ""); err != nil {
		return s, err
	}
	if err := alwaysAllow(home); err != nil {
		return s, err
	}
	env, err := scripted.Env(home)
	if err != nil {
		return s, err
	}
	env = append(slices.Concat(os.Environ(), env),
		"CODEX_BRIDGE_CONFIG="+conf, "CODEX_BRIDGE_CODEX="+o.Codex,
		"CODEX_BRIDGE_STATE="+filepath.Join(folder, "state"),
		"HOME="+home, // ignore the start-up files of a login shell
		// At this level the bridge logs the rewritten requests.
		"CODEX_BRIDGE_LOG=debug", "CODEX_BRIDGE_LOG_FORMAT=json")
	s.env = env
	s.editor, err = editor.Start(editor.Options{Argv: []string{o.Bridge, "app-server"}, Env: env, Dir: s.work})
	if err != nil {
		return s, err
	}
	ctx, cancel := withTimeout(context.Background())
	defer cancel()
	result, rerr := s.editor.Initialize(ctx, nil)
	if rerr != nil {
		return s, fmt.Errorf("the bridge does not start: %w\n%s", rerr, s.editor.Stderr())
	}
	_, agent, _ := strings.Cut(editor.Member(result, "userAgent"), "/")
	s.version, _, _ = strings.Cut(agent, " ")
	return s, nil
}

// checkModel sends a request to the model. Codex would retry for minutes.
func checkModel(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/models", nil)
	if err != nil {
		return err
	}
	// The model is on this machine: ignore the proxy of the environment.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// command returns a command of the bridge that a user would type in another terminal.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.o.Bridge, args...)
	command.Env = append(slices.Clip(s.env), fmt.Sprintf("COLUMNS=%d", columns-6))
	return command
}

// close ends all processes and removes the files.
func (s *stage) close() error {
	if s.editor != nil {
		s.editor.Close(5 * time.Second)
	}
	var err error
	if s.model != nil {
		err = s.model.Close()
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// withTimeout limits the time of a step, so that the demo can't hang.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Minute)
}

// rewritten returns the last request of a method as Codex got it, and the changes with their
// reasons. It waits for the bridge's log, which is not ordered with the response.
func (s *stage) rewritten(ctx context.Context, method string) (got string, changes []change, err error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	_, err = s.editor.WaitStderr(ctx, func(log string) bool {
		got, changes = "", nil
		for line := range strings.Lines(log) {
			var entry struct {
				change
				Msg, Method, Line string
			}
			switch {
			case json.Unmarshal([]byte(line), &entry) != nil || entry.Method != method:
			case entry.Msg == "codex gets": // logged last
				got = entry.Line
			case entry.Field != "":
				changes = append(changes, entry.change)
			}
		}
		return got != ""
	})
	if err != nil {
		err = fmt.Errorf("%s was not rewritten: %w", method, err)
	}
	return got, changes, err
}

// change is one change of a request, as the bridge logs it.
type change struct{ Field, Rule, Reason string }
