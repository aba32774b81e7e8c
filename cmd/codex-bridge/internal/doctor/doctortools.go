package doctor

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/host"
	"codex-bridge.example/relay/tools/provider"
)

// examineTools starts the tool servers, lists their tools and ends them. It looks up the
// programs of command tools, but does not run them, because they may have side effects.
func examineTools(cfg *config.Config) []finding {
	if !host.Configured(cfg) {
		return nil
	}
	toolSet := host.NewToolSet(cfg, host.ToolSetOptions{Version: buildinfo.Version, Log: configured.Logger(cfg), Startup: 20 * time.Second})
	offer := assembly.WaitForTools(toolSet, tools.NewCatalogue(toolSet.Providers()...))
	servers := toolSet.Servers()
	toolSet.Close(context.Background())

	var all []finding
	for _, name := range slices.Sorted(maps.Keys(cfg.Tools)) {
		program := cfg.Tools[name].Command[0]
		path, err := exec.LookPath(program)
		if err != nil {
			all = append(all, finding{"tool", Broken, fmt.Sprintf("%s: %v (%s)", name, err, settings.Origin(cfg, config.Key("tools", name))), "set the path of an executable program"})
			continue
		}
		if !slices.ContainsFunc(offer.Omitted, func(l tools.OmittedTool) bool { return l.Tool == name || l.Tool == tools.DefaultNamespace+"."+name }) {
			all = append(all, finding{"tool", Fine, fmt.Sprintf("%s: %s", name, path), ""})
		}
	}
	for _, s := range servers {
		f := finding{"tool server", Fine, fmt.Sprintf("%s: started, %d tools, ended", s.Name, s.Tools), ""}
		switch {
		case s.State != provider.Ready:
			f.State, f.Detail, f.Hint = Broken, fmt.Sprintf("%s: %s: %s", s.Name, s.State, s.Error), "run its command by hand, or see CODEX_BRIDGE_LOG=debug"
		case s.Error != "":
			f.State, f.Detail = Warn, fmt.Sprintf("%s: %s", s.Name, s.Error)
		case s.Tools == 0:
			f.State, f.Detail = Warn, fmt.Sprintf("%s: started, and it has no tools", s.Name)
		}
		all = append(all, f)
	}
	for _, l := range offer.Omitted {
		all = append(all, finding{"tool", Warn, l.String(), "no thread gets this tool"})
	}
	return all
}
