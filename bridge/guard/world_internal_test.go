package guard

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// inFolder creates a folder with folders and links, and makes it the current one.
func inFolder(t *testing.T, folders []string, links map[string]string) (root string, at func(string) string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at = func(name string) string { return filepath.Join(root, name) }
	for _, folder := range folders {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range links {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	return root, at
}

// WorldOf returns the machine of this process with the environment of Codex.
func TestWorldIsThatOfCodex(t *testing.T) {
	root, at := inFolder(t, []string{"real", "home"}, map[string]string{"link": "real", "homelink": "home"})
	t.Setenv("CODEX_HOME", "")
	world := WorldOf(config.Codex{Env: map[string]string{"HOME": at("homelink")}})
	if world.StartFolder != root || world.CodexHome != at("home/.codex") {
		t.Errorf("it starts in %q with %q", world.StartFolder, world.CodexHome)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil || !slices.Contains(world.Programs, self) {
		t.Errorf("its programs are %q, without %q", world.Programs, self)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if home, err = (filesystem{}).Canonical(home); err != nil || world.Home != home {
		t.Errorf("the user's home is %q, not %q", world.Home, home)
	}
}

// /tmp and $TMPDIR are temporary folders, with the TMPDIR of Codex.
func TestTemps(t *testing.T) {
	root, at := inFolder(t, []string{"real"}, map[string]string{"link": "real"})
	tmp, err := filepath.EvalSymlinks("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string][]policy.TempFolder{
		"":               nil,
		at("link"):       {{Name: "$TMPDIR", Path: at("real")}},
		at("none") + "/": {{Name: "$TMPDIR", Path: at("none")}},
		"link":           {{Name: "$TMPDIR", Path: at("real"), Relative: true}},
	} {
		want = append([]policy.TempFolder{{Name: "/tmp", Path: tmp}}, want...)
		if got := tempFolders([]string{"TMP=/x", "TMPDIR=" + value}, policy.State{StartFolder: root}); !slices.Equal(got, want) {
			t.Errorf("TMPDIR=%s: %+v, want %+v", value, got, want)
		}
	}
}

// Without CODEX_HOME and HOME, Codex's own folder is in the home folder of the user database, whatever HOME
// is for the bridge.
func TestCodexHomeWithoutHome(t *testing.T) {
	home, err := config.DatabaseHome()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(home, ".codex")
	for name, test := range map[string]struct {
		env  []string
		want string
	}{
		"nothing":        {nil, own},
		"empty":          {[]string{"HOME=", "CODEX_HOME="}, own},
		"its own folder": {[]string{"CODEX_HOME=/nowhere/x"}, "/nowhere/x"},
		"a home":         {[]string{"HOME=/nowhere"}, "/nowhere/.codex"},
		"both":           {[]string{"CODEX_HOME=/nowhere/x", "HOME=/nowhere", "OTHER=/x"}, "/nowhere/x"},
	} {
		if got := codexHome(test.env, ""); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	if got := codexHome([]string{"CODEX_HOME=x"}, ""); got != "" {
		t.Errorf("a relative folder, seen from an unknown one: %q", got)
	}
}

// The links by which Codex finds its own folder are sensitive, in any spelling of the path. The
// bridge does not start if one of them is in a temporary folder.
func TestLinksOfCodexHome(t *testing.T) {
	root, at := inFolder(t, []string{"own", "home", "temp"}, map[string]string{
		"home/.codex": "../way", "way": "own", "homelink": "home", "temp/way": "../own",
	})
	t.Setenv("HOME", at("homelink"))
	t.Setenv("USERPROFILE", at("homelink"))
	t.Setenv("TMPDIR", at("temp"))
	t.Setenv("CODEX_BRIDGE_CONFIG", "")
	t.Setenv("CODEX_BRIDGE_STATE", at("state"))
	for value, want := range map[string][]string{
		"":                 {"home/.codex", "homelink", "way"},
		"way":              {"way"},
		"./home/../way":    {"way"},
		"temp/way":         {"temp/way"},
		at("home/.codex"):  {"home/.codex", "way"},
		"homelink/../own/": {"homelink"},
		"own":              nil,
	} {
		t.Setenv("CODEX_HOME", value)
		world := WorldOf(config.Codex{})
		var got []string
		for _, kept := range world.Sensitive {
			if name, err := filepath.Rel(root, kept); err == nil && name != "state" {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) || world.CodexHome != at("own") {
			t.Errorf("CODEX_HOME=%s: %q by %q, want %q", value, world.CodexHome, got, want)
		}
		exposed := slices.ContainsFunc(Governing(config.Default(), world), func(p policy.SensitivePath) bool { return p.Path == at("temp/way") && p.Hint != "" })
		if exposed != (value == "temp/way") {
			t.Errorf("CODEX_HOME=%s: the link in a temporary folder counts: %v", value, exposed)
		}
	}
}

// Each link of a path counts with its folder, also one behind another.
func TestLinks(t *testing.T) {
	root, at := inFolder(t, []string{"real/bin", "a"}, map[string]string{
		"way": "a/next", "a/next": "../real", "round": "round", "up": "a/next/../a", "nowhere": "none/x", "away": "/",
	})
	for path, want := range map[string][]string{
		"real/bin":                       nil,
		"way/bin":                        {"way", "a/next"},
		"way/../a/next/bin":              {"way", "a/next", "a/next"},
		"up/next":                        {"up", "a/next", "a/next"},
		"nowhere/y":                      {"nowhere"},
		"none/y":                         nil,
		"away" + root + "/way":           {"away", "way", "a/next"},
		"round":                          slices.Repeat([]string{"round"}, maxLinks),
		"real/./bin//x/../../../way/bin": {"way", "a/next"},
		"nowhere":                        {"nowhere"},
	} {
		end := map[string]string{"nowhere": at("none/x"), "nowhere/y": at("none/x/y"), "round": "", "way/bin": at("real/bin")}
		if want, ok := end[path]; ok {
			if got, _ := followLinks(root + "/" + path); got != want {
				t.Errorf("%s leads to %q, want %q", path, got, want)
			}
		}
		var got []string
		for _, link := range linksOf(root + "/" + path) {
			name, err := filepath.Rel(at(""), link)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A file named git that is not executable counts like the one that Codex finds: a command could
// make it executable, or create the target of the link.
func TestGitCandidates(t *testing.T) {
	_, at := inFolder(t, []string{"plain", "missing", "folder/git", "good", "later"}, map[string]string{"missing/git": "../gone/git", "good/git": "program"})
	for file, mode := range map[string]os.FileMode{"plain/git": 0o600, "good/program": 0o700, "later/git": 0o700} {
		if err := os.WriteFile(at(file), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	folders := []string{at("none"), at("plain"), at("missing"), at("folder"), at("good"), at("later")}
	want := []string{at("plain/git"), at("missing/git"), at("folder/git"), at("good/git")}
	if runtime.GOOS == "windows" {
		want = nil // there it is git.exe
	}
	if got := gitCandidates(folders); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	var world policy.State
	AddPrograms(&world, at("missing/git"))
	if !slices.Equal(world.Programs, []string{at("gone/git")}) || !slices.Equal(world.Links, []string{at("missing/git")}) {
		t.Errorf("of a link to nothing the programs are %q, the links %q", world.Programs, world.Links)
	}
}

// Governing returns each path that a policy depends on once, with a hint how to move it. It omits a
// workspace's own file.
func TestGoverningPlaces(t *testing.T) {
	_, at := inFolder(t, []string{"codex/rules", "mine", "work"}, map[string]string{"codex/config.toml": "../mine/codex.toml", "linked": "mine"})
	for _, file := range []string{"mine/codex.toml", "mine/bridge.toml", "work/.codex-bridge.toml"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CODEX_BRIDGE_CONFIG", "mine/bridge.toml")
	t.Setenv("CODEX_BRIDGE_STATE", at("state"))
	list := func(files []string, codexHome string) (names []string) {
		for _, place := range governing(files, codexHome) {
			name, err := filepath.Rel(at(""), place.Path)
			if err != nil || place.Hint == "" {
				t.Errorf("%+v: %v", place, err)
			}
			names = append(names, place.Name+" "+name)
		}
		return names
	}
	files := []string{at("linked/bridge.toml"), filepath.Join(at("work"), config.WorkspaceFile), at("none.toml")}
	want := []string{
		"the configuration file mine/bridge.toml", "the configuration file linked", "the configuration file none.toml", "the state folder state",
		"codex's own folder codex", "codex's own file mine/codex.toml",
	}
	if got := list(files, at("codex")); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := list(nil, ""); !slices.Equal(got, []string{want[0], want[3]}) {
		t.Errorf("without Codex's folder: %q", got)
	}
	if got := Governing(new(config.Config), policy.State{CodexHome: at("codex")}); len(got) != 4 {
		t.Errorf("of a configuration without files: %+v", got)
	}
	t.Setenv("CODEX_BRIDGE_CONFIG", "")
	if got := list(nil, ""); strings.Contains(strings.Join(got, " "), "bridge.toml") {
		t.Errorf("without a configuration: %q", got)
	}
}

// A path that can't be resolved counts as it is written.
func TestPlacesThatCannotBeLookedUp(t *testing.T) {
	_, at := inFolder(t, []string{"real"}, map[string]string{"link": "real"})
	if err := os.WriteFile(at("real/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := placesOf("link/file/x"), []string{at("real/file/x"), at("link")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A workspace's policy file is the target of its link. A missing file, or a link without a target,
// does not count.
func TestPolicyFilesOfFolder(t *testing.T) {
	_, at := inFolder(t, []string{"file", "none", "link", "dangling", "real"}, map[string]string{
		"link/" + config.WorkspaceFile: "../real/target", "dangling/" + config.WorkspaceFile: "../real/nothing",
	})
	file := at("file/" + config.WorkspaceFile)
	for _, one := range []string{at("real/target"), file} {
		if err := os.WriteFile(one, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string][]string{"file": {file}, "none": nil, "link": {at("real/target")}, "dangling": nil} {
		if got := (filesystem{}).PolicyFiles(at(folder)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}
