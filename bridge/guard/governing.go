package guard

import (
	"path/filepath"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/statefolder"
)

// Governing returns the files and folders that the policy of cfg depends on, with hints how to move
// each: the configuration files, the state folder, Codex's own folder, and programs in temporary
// folders.
func Governing(cfg *config.Config, world policy.State) []policy.SensitivePath {
	places := append(governing(cfg.Files(), world.CodexHome), databasePlaces(cfg.Codex, world)...)
	// The sandbox of each thread protects a folder of PATH in a temporary folder, but no link
	// there.
	found := slices.Clone(world.Links)
	for _, folder := range world.Programs {
		if slices.ContainsFunc(world.Temps, func(t policy.TempFolder) bool { return policy.Within(folder, t.Path) }) {
			found = append(found, folder)
		}
	}
	places = appendPlaces(places, "the trusted root of the policy source", cfg.PolicySource.Root, "move it, and name it in policy_source.root")
	places = appendPlaces(places, "the table of Codex's methods", cfg.TableFile(), "move it, and name it in codex.table")
	for _, path := range cfg.Serve.Places() {
		places = append(places, policy.SensitivePath{Name: "the place in [serve]", Path: path, Hint: "name another one in serve.listen or serve.token_file"})
	}
	for _, path := range world.Sensitive {
		if !slices.ContainsFunc(places, func(p policy.SensitivePath) bool { return p.Path == path }) {
			places = append(places, policy.SensitivePath{Name: "the link to codex's own folder", Path: path, Hint: "have CODEX_HOME name what it leads to"})
		}
	}
	for _, path := range found {
		places = append(places, policy.SensitivePath{Name: "the folder of programs", Path: path, Hint: "remove it from PATH, or have TMPDIR name what it leads to"})
	}
	return places
}

// governing returns the configuration files, including the user's if it does not exist, the state
// folder, and codexHome with the targets of its links. It omits files of a workspace, which each
// thread's sandbox protects.
func governing(files []string, codexHome string) []policy.SensitivePath {
	var out []policy.SensitivePath
	if file := config.Discover("").User; file != "" {
		files = append(files, file)
	}
	for _, file := range files {
		if filepath.Base(file) != config.WorkspaceFile {
			out = appendPlaces(out, "the configuration file", file, "move it, and name it with "+config.EnvConfig)
		}
	}
	if folder, err := statefolder.Path(); err == nil {
		out = appendPlaces(out, "the state folder", folder, "name another folder with "+statefolder.Env)
	}
	if codexHome != "" {
		out = appendPlaces(out, "codex's own folder", codexHome, "name another folder with CODEX_HOME")
		for _, at := range linkTargets(codexHome) {
			out = appendPlaces(out, "codex's own file", at, "move it")
		}
	}
	return out
}
