// Command codex-bridge-core is codex-bridge without its features: the core alone, as a stdio proxy of
// `codex app-server`. It reads the same configuration and enforces the same policy by the same code, with hooks,
// questions and program starts. It links no database, so that the boundary of the core is proved by linking.
//
// Its state folder has the decision log as files of JSON lines. "codex-bridge-core decisions list" prints it, and
// "codex-bridge-core decisions verify [HEAD]" checks its chain, and that it still has a head printed earlier.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// Version is the version of the program.
var Version = "dev"

// setup refuses to open threads under a policy source: the core reads no bundles.
var setup = settings.Setup{Extend: func(files *config.Options) {
	files.Bundle = func(config.PolicySource) config.Bundle {
		return config.Bundle{Missing: "codex-bridge-core reads no bundles of policy"}
	}
}, Variables: func(*config.Config) []string {
	// codex-bridge uses them, and keeps them from Codex. The core exports nothing.
	return []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"}
}}

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) > 0 && args[0] == "hook":
		os.Exit(hook.Run(args[1:], os.Stdin, os.Stdout, os.Stderr))
	case len(args) > 0 && args[0] == "decisions":
		err = decisions(args[1:], os.Stdout)
	default:
		err = run(args)
	}
	if err != nil {
		for line := range strings.SplitSeq(strings.TrimSpace(problem.Text(err)), "\n") {
			fmt.Fprintf(os.Stderr, "codex-bridge-core: %s\n", display.Line(line))
		}
		os.Exit(core.ExitStatus(err))
	}
}

// run runs codex app-server with these arguments behind the proxy, or prints its help or version.
func run(args []string) error {
	cfg, err := config.LoadLenient(setup.StartFiles(setup.Files(settings.Workspace())))
	if err != nil {
		return err
	}
	if err := requireCore(cfg); err != nil {
		return err
	}
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return err
	}
	command := codex.Command{Path: path, Args: slices.Concat(cfg.Codex.Args, args), Env: setup.CodexEnviron(cfg)}
	if err := settings.KeepTrustList(cfg); err != nil {
		return err
	}
	log := setup.Logger(os.Stderr, cfg)
	record, err := newState(setup.Secrets(cfg), log)
	if err != nil {
		return err
	}
	var notices []string
	if command.Args, notices, err = settings.ApplyArgs(cfg, command.Args, len(cfg.Codex.Args), record, log); err != nil {
		return errors.Join(err, record.Close())
	}
	switch line := argv.Parse(command.Args); {
	case line.Info && !line.Generates():
		if err := record.Close(); err != nil {
			return err
		}
		code, err := codex.Become(command.Path, command.Args, command.Env)
		if err == nil {
			os.Exit(code)
		}
		return err
	case !line.Proxy:
		return errors.Join(&settings.RefusedArgs{Problem: "codex-bridge-core runs codex app-server alone; codex-bridge runs the other commands"}, record.Close())
	}
	settings.WarnAbout(cfg, log)
	shared, err := core.NewShared(core.SharedOptions{
		Config: cfg, Setup: setup, Workspace: settings.Workspace(), Command: command, State: record, Untested: untested, Log: log,
	})
	if err != nil {
		return errors.Join(err, record.Close())
	}
	c := converse(shared, record)
	proxy := c.ProxyOptions(cfg)
	proxy.Features = append(proxy.Features, person{}, c.Guard.BridgeMethods(noSession), c.Hello, c.Grants())
	proxy.Features = append(proxy.Features, c.Features()...)
	return c.Run(core.RunOptions{
		Setup: setup, Proxy: proxy, Notices: notices, SetConfig: []func(*config.Config){c.Hooks.SetConfig},
		Close: func() {
			core.CloseTogether(shared.Parts())
			if err := record.Close(); err != nil {
				log.Error("can't close the decision log", "error", err)
			}
		},
	})
}

// converse creates the conversation with the only client.
func converse(shared *core.Shared, record *state) *core.Conversation {
	c := shared.Join(core.ConversationOptions{Version: Version, Recorder: record, Log: shared.Log})
	c.AskPeople(core.PeopleOptions{
		Record: record, Sessions: noSessions{}, HasPerson: func() (bool, string) { return true, "" },
		Unattended: os.Getenv(settings.OwnCodexEnv) != "",
	})
	return c
}

// requireCore returns an error for a configuration that keeps decisions where the core can't: a log elsewhere would
// lack them.
func requireCore(cfg *config.Config) error {
	for _, one := range [][2]string{{"store.url", cfg.Store.URL}, {"fleet.url", cfg.Fleet.URL}} {
		if one[1] != "" {
			return &settings.RefusedArgs{Problem: fmt.Sprintf("codex-bridge-core has no database and sends nothing: it can't use %s (%s)", one[0], settings.Origin(cfg, one[0]))}
		}
	}
	return nil
}

// untested returns a sentence about a Codex that is newer than the tested one.
func untested(program *codex.Program) string {
	version, err := program.Version(context.Background())
	if err != nil || codex.CompareVersions(version, methods.Measured) <= 0 {
		return ""
	}
	return fmt.Sprintf("codex-bridge-core was not tested with Codex %s: it is newer than %s", version, methods.Measured)
}

// person refuses a client that answers no questions: only codex-bridge declines in a client's place.
type person struct{}

// Routes implements bridge.Feature.
func (person) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "initialize", Why: "capabilities.bridge.approvals", HandleClient: func(_ context.Context, m *bridge.ClientMessage) *rpc.Error {
		if answers, says := m.Params.Get("capabilities").Get("bridge").Get("approvals").Bool(); says && !answers {
			return rpc.Errorf(rpc.CodeInvalidParams, "capabilities.bridge.approvals is false: codex-bridge-core can't decline in the client's place; use codex-bridge")
		}
		return nil
	}}}
}

// Stage implements bridge.Feature.
func (person) Stage() bridge.Stage { return bridge.BeforeGuard }

// noSession is for a program without sessions: no key of a session has a thread.
func noSession(context.Context, string) (string, error) { return "", nil }

// noSessions implements approvals.Sessions for a program without sessions.
type noSessions struct{}

func (noSessions) Apps(context.Context, string) *answer.Apps { return nil }
func (noSessions) Running(string) string                     { return "" }
