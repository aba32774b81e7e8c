package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/host"
	"codex-bridge/relay/tools/provider"
)

// examineTools starts the servers, has them list their tools, and ends them. Commands are
// looked for, and not run: what they do is theirs.
func examineTools(cfg *config.Config) []finding {
	if !host.Configured(cfg) {
		return nil
	}
	kit := host.NewToolSet(cfg, host.ToolSetOptions{Version: Version, Log: logger(cfg), Startup: 20 * time.Second})
	offer := settled(kit, tools.NewCatalogue(kit.Providers()...))
	servers := kit.Servers()
	kit.Close(context.Background())

	var all []finding
	for _, name := range slices.Sorted(maps.Keys(cfg.Tools)) {
		program := cfg.Tools[name].Command[0]
		path, err := exec.LookPath(program)
		if err != nil {
			all = append(all, finding{"tool", broken, fmt.Sprintf("%s: %v (%s)", name, err, origin(cfg, config.Key("tools", name))), "name a program that is there, and that may be run"})
			continue
		}
		if !slices.ContainsFunc(offer.Omitted, func(l tools.OmittedTool) bool { return l.Tool == name || l.Tool == tools.DefaultNamespace+"."+name }) {
			all = append(all, finding{"tool", fine, fmt.Sprintf("%s: %s", name, path), ""})
		}
	}
	for _, s := range servers {
		f := finding{"tool server", fine, fmt.Sprintf("%s: started, %d tools, ended", s.Name, s.Tools), ""}
		switch {
		case s.State != provider.Ready:
			f.State, f.Detail, f.Mend = broken, fmt.Sprintf("%s: %s: %s", s.Name, s.State, s.Error), "run its command by hand, or see CODEX_BRIDGE_LOG=debug"
		case s.Error != "":
			f.State, f.Detail = warn, fmt.Sprintf("%s: %s", s.Name, s.Error)
		case s.Tools == 0:
			f.State, f.Detail = warn, fmt.Sprintf("%s: started, and it has no tools", s.Name)
		}
		all = append(all, f)
	}
	for _, l := range offer.Omitted {
		all = append(all, finding{"tool", warn, l.String(), "no thread is offered it"})
	}
	return all
}
