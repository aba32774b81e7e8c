package featurecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/host"
	"codex-bridge.example/relay/tools/provider"
)

// ToolsCmd is the command "codex-bridge tools".
type ToolsCmd struct {
	List listToolsCmd `cmd:"" help:"List the tools that threads get, and the omitted ones. Starts the servers, and ends them." example:"codex-bridge tools list"`
	Call callToolCmd  `cmd:"" help:"Call a tool and print what the model would read. Skips policy and hooks." example:"codex-bridge tools call ticket_get --args '{\"id\": 1}'"`
}

type listToolsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// toolRow is a tool in the list. The JSON names are stable.
type toolRow struct {
	Namespace   string          `json:"namespace,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Searchable  bool            `json:"searchable"`
	Origin      string          `json:"origin"`
}

func (c listToolsCmd) Run(out io.Writer) error {
	return withTools(func(_ *config.Config, kit *host.ToolSet, catalogue *tools.Catalogue) error {
		offer := assembly.WaitForTools(kit, catalogue)
		rows := []toolRow{}
		for _, s := range offer.Tools {
			rows = append(rows, toolRow{s.Namespace, s.Name, s.Description, s.InputSchema, s.Searchable, s.Origin})
		}
		servers := kit.Servers()
		failed := slices.ContainsFunc(servers, func(s provider.Status) bool { return s.State != provider.Ready })
		if c.JSON {
			encoder := json.NewEncoder(out)
			encoder.SetIndent("", "  ")
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(map[string]any{"tools": rows, "leftOut": append([]tools.OmittedTool{}, offer.Omitted...), "servers": servers}); err != nil {
				return err
			}
		} else if err := printTools(out, rows, offer.Omitted, servers); err != nil {
			return err
		}
		if failed || len(offer.Omitted) > 0 {
			return exit.Status(exit.Failed)
		}
		return nil
	})
}

func printTools(out io.Writer, all []toolRow, left []tools.OmittedTool, servers []provider.Status) error {
	if len(all)+len(left)+len(servers) == 0 {
		return output.PrintLine(out, "no tools are configured; add [tools.NAME] or [tool_servers.NAME] to the configuration, see docs/guides/tools.md")
	}
	var rows output.Table
	for _, r := range all {
		first, _, _ := strings.Cut(strings.TrimSpace(r.Description), "\n")
		rows.Row(display.Line(tools.Name{Namespace: r.Namespace, Name: r.Name}.String()), display.Line(first), display.Line(r.Origin))
	}
	if err := rows.Print(out); err != nil {
		return err
	}
	w := output.NewPrinter(out)
	for _, l := range left {
		w.Line("left out: %s", display.Line(l.String()))
	}
	for _, s := range servers {
		if s.Error != "" {
			w.Line("server %s: %s: %s", display.Line(s.Name), s.State, display.Line(s.Error))
		}
	}
	return w.Failure()
}

type callToolCmd struct {
	Name      string `arg:"" help:"NAME or NAMESPACE.NAME."`
	Args      string `default:"{}" help:"The arguments, a JSON object."`
	ThreadCwd string `help:"The thread's folder; by default this one." placeholder:"DIR"`
	JSON      bool   `help:"Print the response that Codex would get." name:"json"`
}

func (c callToolCmd) Run(out io.Writer) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(c.Args), &members); err != nil || members == nil {
		return errors.New("--args is not a JSON object; use for example --args '{\"id\": 1}'")
	}
	folder, err := exit.ExistingFolder("--thread-cwd", c.ThreadCwd)
	if err != nil {
		return err
	}
	call := tools.Call{Thread: "none", Turn: "none", ID: "none", Arguments: json.RawMessage(c.Args), Cwd: folder}
	var answer tools.Answer
	err = withTools(func(cfg *config.Config, kit *host.ToolSet, catalogue *tools.Catalogue) error {
		offer := assembly.WaitForTools(kit, catalogue)
		i := slices.IndexFunc(offer.Tools, func(s tools.Spec) bool { return s.DisplayName() == c.Name })
		if i < 0 {
			for _, l := range offer.Omitted {
				if l.Tool == c.Name {
					return errors.New(l.String())
				}
			}
			return fmt.Errorf("there is no tool %q; \"codex-bridge tools list\" has those that there are", c.Name)
		}
		call.Namespace, call.Name = offer.Tools[i].Namespace, offer.Tools[i].Name
		runner := tools.NewRunner(catalogue, tools.Options{Limits: cfg.ToolLimits, Log: configured.Logger(cfg)})
		defer runner.Close()
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		answer = runner.Answer(ctx, call)
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.print(out, answer); err != nil {
		return err
	}
	if !answer.Success {
		return exit.Status(exit.Failed)
	}
	return nil
}

func (c callToolCmd) print(out io.Writer, answer tools.Answer) error {
	if c.JSON {
		raw, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", raw)
		return err
	}
	for _, item := range answer.Items {
		text := item.Text
		if item.Image != "" {
			kind, _, _ := strings.Cut(item.Image, ";")
			text = fmt.Sprintf("[an image, %s, %d characters]", strings.TrimPrefix(kind, "data:"), len(item.Image))
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}

// withTools calls do with the configured tools, and ends their servers afterwards.
func withTools(do func(*config.Config, *host.ToolSet, *tools.Catalogue) error) error {
	cfg, err := configured.LoadStrict()
	if err != nil {
		return err
	}
	toolSet := host.NewToolSet(cfg, host.ToolSetOptions{Version: buildinfo.Version, Log: configured.Logger(cfg), Startup: time.Minute})
	defer toolSet.Close(context.Background())
	return do(cfg, toolSet, tools.NewCatalogue(toolSet.Providers()...))
}
