package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
)

// examineState checks the database, its hash chain and its sessions. It creates nothing.
func examineState(cfg *config.Config) []finding {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	unwritable := examineWriting(cfg)
	s, err := decisionlog.OpenState(ctx, cfg, true)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return []finding{stateProblem(err)}
	case unwritable != nil && err != nil:
		return []finding{stateProblem(unwritable)}
	case err != nil:
		return []finding{{"state", Fine, "none yet; the bridge creates it with the first decision", ""}}
	}
	defer func() { _ = s.Close() }()
	if unwritable != nil {
		return append([]finding{stateProblem(unwritable), examineDecisions(ctx, s), examineSessions(ctx, s)}, examineLostPolicy(ctx, cfg, s)...)
	}
	detail := fmt.Sprintf("%s, schema %d", s.Location(), s.Version())
	if cfg.Store.URL == "" {
		detail += "; only the owner can read the folder and files"
	}
	return append([]finding{{"state", Fine, detail, ""}, examineDecisions(ctx, s), examineSessions(ctx, s)}, examineLostPolicy(ctx, cfg, s)...)
}

// examineLostPolicy warns if the last decision had an effect, so under a policy, and no file has one now.
func examineLostPolicy(ctx context.Context, cfg *config.Config, s *store.Store) []finding {
	if cfg.Policy.Mode != config.Off {
		return nil
	}
	for last, err := range s.Decisions(ctx, store.Filter{Limit: 1}) {
		if err == nil && last.Mode == string(config.Enforce) {
			return []finding{{"policy", Warn, "no file has a policy here, but the last decision, of " + last.Time.Local().Format(time.DateTime) + ", was made under one",
				"if you have not removed it, restore the configuration file; a policy of another workspace does not count here"}}
		}
	}
	return nil
}

// examineExposed reports files that the policy depends on and that sandboxed commands could
// write, and the folder of the hooks' socket.
func examineExposed(cfg *config.Config) []finding {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil || p.Mode() != config.Enforce {
		return nil
	}
	world := guard.WorldOf(cfg.Codex)
	var all []finding
	for _, one := range p.CheckSensitivePaths(configured.Setup.Governing(cfg, world), world.Temps) {
		all = append(all, finding{"protection", Broken, one.Problem(), one.Hint()})
	}
	for _, one := range guard.CheckEnvFile(world) {
		all = append(all, finding{"protection", Broken, one.Problem(), one.Hint()})
	}
	for _, one := range guard.CheckConfigFiles(cfg.Codex, world) {
		all = append(all, finding{"protection", Broken, one.Problem(), one.Hint()})
	}
	if one := guard.CheckExecServer(cfg.Codex); one != nil {
		all = append(all, finding{"protection", Broken, one.Problem(), one.Hint()})
	}
	if all != nil {
		return all
	}
	folder, err := configured.Setup.SocketFolder(world)
	if err != nil {
		return []finding{{"protection", Broken, fmt.Sprintf("the folder of the hooks' socket: %v", err), ""}}
	}
	return []finding{{"protection", Fine, "commands can't write the configuration, the state or codex's own folder by way of a temporary folder; the hooks' socket is in " + folder, ""}}
}

// examineLeftOvers reports the empty read-only files in place of folders above protected paths of the current folder.
// Killed commands of Codex leave such files on Linux.
func examineLeftOvers(cfg *config.Config) (all []finding) {
	folder, err := os.Getwd()
	if err != nil || cfg.Policy.Mode != config.Enforce || runtime.GOOS != "linux" {
		return nil
	}
	var seen []string
	for _, path := range cfg.Policy.ProtectedPaths {
		names := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
		for i := 1; i < len(names); i++ {
			at := filepath.Join(folder, filepath.Join(names[:i]...))
			if !slices.Contains(seen, at) && isLeftOver(at) {
				seen = append(seen, at)
				all = append(all, finding{
					"protection", Warn, at + " is an empty read-only file in place of a folder of the protected path " + path,
					"if a killed command has left it, remove it with \"rm -f\"",
				})
			}
		}
	}
	return all
}

// isLeftOver reports whether a file is empty and read-only, as Codex creates its mount points.
func isLeftOver(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0 && info.Mode().Perm()&0o222 == 0
}

// missingRoots returns the entries of policy.writable_roots that do not exist.
func missingRoots(cfg *config.Config) (missing []string) {
	for _, root := range cfg.Policy.WritableRoots {
		if !filepath.IsAbs(root) {
			continue // it is below ${workspace}
		}
		if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, root)
		}
	}
	return missing
}

// examineWriting returns an error if the state folder is not writable. For a database server
// it returns nil, since only a write would show it.
func examineWriting(cfg *config.Config) error {
	if cfg.Store.URL != "" {
		return nil
	}
	folder, err := statefolder.Path()
	if err != nil {
		return err
	}
	return store.CheckWritable(folder)
}

func stateProblem(err error) finding {
	var access *statefolder.AccessError
	var newer *store.VersionError
	switch {
	case errors.As(err, &access):
		return finding{"state", Broken, access.Path + " " + access.Problem, access.Hint}
	case errors.As(err, &newer):
		return finding{"state", Broken, problem.Text(err), ""}
	}
	return finding{"state", Broken, problem.Text(err), "without it the bridge can't record decisions, so it rejects every message that it would change or refuse"}
}

func examineDecisions(ctx context.Context, s *store.Store) finding {
	head, err := s.Verify(ctx)
	var altered *decision.BrokenError
	switch {
	case errors.As(err, &altered):
		return finding{"decisions", Broken, problem.Text(err),
			"keep a copy of the database, compare it with an export or a head noted earlier, and find out who wrote it; move it away for a new log"}
	case err != nil:
		return finding{"decisions", Broken, problem.Text(err), "see \"codex-bridge decisions verify\""}
	}
	return finding{"decisions", Fine, fmt.Sprintf("%d, none changed; head %.12s…", head.Seq, head.Hash), ""}
}

// examineSessions counts the sessions that have a thread. It warns about unreadable records,
// because their sessions have lost their threads.
func examineSessions(ctx context.Context, s *store.Store) finding {
	bound, unreadable, err := s.CountBindings(ctx)
	switch {
	case err != nil:
		return finding{"sessions", Broken, problem.Text(err), "without it no session finds its thread"}
	case unreadable > 0:
		return finding{"sessions", Warn, fmt.Sprintf("%d have a thread; records that could not be read and are kept aside: %d", bound, unreadable),
			"see the table unreadable_bindings of the database: another version may have written them"}
	}
	return finding{"sessions", Fine, fmt.Sprintf("%d have a thread; see \"codex-bridge threads list\"", bound), ""}
}
