package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
)

// schemaTime bounds how long Codex may take to print its schema. Measured: half a second.
const schemaTime = 20 * time.Second

// examineMethods compares the methods of the installed Codex, and the names in
// [policy.methods], with the method table.
func examineMethods(ctx context.Context, cfg *config.Config, path, version string) []finding {
	names, newer := 0, compat.NewerTable(cfg)
	for row := range methods.Rows() {
		if row.IsIn(version) {
			names++
		}
	}
	table := finding{"methods", Fine, fmt.Sprintf("all %d names of codex %s are judged", names, version), ""}
	var p release.Release
	if version != methods.Measured {
		p, table = compareMethods(ctx, cfg, path, version)
	}
	all := []finding{table}
	for _, name := range slices.Sorted(maps.Keys(cfg.Policy.Methods)) {
		problem := compat.OverrideProblem(newer, name)
		_, request := p.Methods[methods.ClientRequest][name]
		_, notification := p.Methods[methods.ClientNotification][name]
		_, asked := p.Methods[methods.ServerRequest][name]
		if problem == "" || request || notification || asked {
			continue
		}
		all = append(all, finding{"methods", Warn, fmt.Sprintf("%s: policy.methods names %q: %s", compat.OverrideOrigin(cfg, name), name, problem),
			`"codex-bridge methods" prints the names`})
	}
	return all
}

// loadMethods runs a Codex to get its methods.
func loadMethods(ctx context.Context, c codex.Command) (*release.Release, error) {
	dir, remove, err := store.MakeScratch()
	if err != nil {
		return nil, err
	}
	r, err := release.LoadMethods(ctx, c, dir)
	return r, errors.Join(err, remove())
}

// compareMethods compares the methods of a Codex version other than the tested one.
func compareMethods(ctx context.Context, cfg *config.Config, path, version string) (release.Release, finding) {
	ctx, cancel := context.WithTimeout(ctx, schemaTime)
	defer cancel()
	p, err := loadMethods(ctx, codex.Command{
		Path: path, Args: cfg.Codex.Args, Env: codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove),
	})
	hint := fmt.Sprintf("what a client sends under a name that codex %s does not have %s", compat.NewerTable(cfg).Covered(), compat.UnknownMethods(cfg))
	if err != nil {
		return release.Release{}, finding{"methods", Warn, fmt.Sprintf("the names of codex %s can't be read: %v", version, err), hint}
	}
	var news []string
	fromClient := false
	for _, side := range methods.Sides() {
		unknown, _ := methods.Diff(side, p.Names(side))
		unknown = slices.DeleteFunc(unknown, func(name string) bool {
			_, ok := compat.NewerTable(cfg).Lookup(side, name)
			return ok
		})
		if len(unknown) > 0 {
			news = append(news, side.String()+" "+strings.Join(unknown, ", "))
			fromClient = fromClient || side.IsFromClient()
		}
	}
	if news == nil {
		return *p, finding{"methods", Fine, fmt.Sprintf("all methods of codex %s are in the table of codex %s", version, compat.NewerTable(cfg).Covered()), ""}
	}
	if !fromClient {
		hint = ""
	}
	return *p, finding{"methods", Warn, fmt.Sprintf("codex %s has methods that this bridge does not know: %s", version, strings.Join(news, "; ")), hint}
}

// examineTable says which newer table of Codex's methods counts, with a finding for each row that does not.
func examineTable(cfg *config.Config) []finding {
	n := compat.NewerTable(cfg)
	if n == nil {
		return nil
	}
	f := finding{"table", Fine, "that of codex " + n.Release + ": " + compat.TextOfTable(n), ""}
	if !n.IsNewer() {
		f.State, f.Hint = Warn, "leave codex.table out, or name a newer one"
	}
	all := []finding{f}
	for _, one := range n.LeftOut {
		all = append(all, finding{"table", Fine, fmt.Sprintf("%q does not count: %s", one.Row, one.Why), ""})
	}
	return all
}
