package policycmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/bundle"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
	"codex-bridge.example/cmd/internal/settings"
)

// PolicyPublishCmd is the command "codex-bridge policy publish".
type PolicyPublishCmd struct {
	Folder  string   `arg:"" optional:"" type:"existingdir" help:"Has policy.toml, and perhaps codex-table.txt, a newer table of Codex's methods; its other .toml and .jsonl files, and those in tests/, are policy tests. Without it, the bundle stays and its signatures are renewed."`
	Repo    string   `required:"" placeholder:"DIR" help:"The repository, which is made if it is missing."`
	Key     []string `placeholder:"FILE" help:"A key that signs bundles. May be given several times."`
	RootKey string   `placeholder:"FILE" help:"The key of the root, for a new repository and for --rotate. Keep it offline."`
	NewKeys bool     `help:"Make the key files that do not exist."`
	Rotate  []string `placeholder:"ROLE=FILE" help:"Give a role (root, targets, snapshot, timestamp) this key in place of its keys. FILE is made if it does not exist."`

	RootExpires      time.Duration `default:"8760h" help:"How long the root is valid."`
	TargetsExpires   time.Duration `default:"2160h" help:"How long the bundle is valid."`
	SnapshotExpires  time.Duration `default:"2160h" help:"How long the list of versions is valid."`
	TimestampExpires time.Duration `default:"168h" help:"How long a client may be shown an old state. Publish again before."`
	JSON             bool          `help:"Print JSON." name:"json"`
}

// publishResult is the result of a publication. The JSON names are stable.
type publishResult struct {
	Version  int64        `json:"version"`
	New      bool         `json:"new"`     // there was no repository
	Changed  bool         `json:"changed"` // the bundle has changed
	Tests    int          `json:"tests"`   // that passed
	MadeKeys []madeKey    `json:"madeKeys"`
	Signed   []signedRole `json:"signed"`
}

type madeKey struct {
	ID   string `json:"id"`
	File string `json:"file"`
}

type signedRole struct {
	Role    string    `json:"role"`
	Version int64     `json:"version"`
	Expires time.Time `json:"expires"`
	Keys    []string  `json:"keys"` // ids
}

// Help describes the keys.
func (PolicyPublishCmd) Help() string {
	return `It refuses a policy.toml that does not load, or whose tests fail.
A new repository: --root-key root.key --key policy.key --new-keys FOLDER. Give users DIR/root.json, and serve DIR by any web server or file share.
Run it without FOLDER daily to renew the timestamp; if you give the timestamp a key of its own, that key suffices.
To exchange a key: --root-key root.key --key policy.key --rotate timestamp=new.key.`
}

// Run signs and writes.
func (c PolicyPublishCmd) Run(out io.Writer) error {
	w, failures := output.NewPrinter(out), out
	if c.JSON {
		failures = output.NewSafeWriter(os.Stderr)
		w = output.NewPrinter(failures) // with the keys that it has made before an error
	}
	result := publishResult{MadeKeys: []madeKey{}, Signed: []signedRole{}}
	p := bundle.Publication{Now: time.Now(), Expiry: make(map[string]time.Duration), Rotate: make(map[string][]*bundle.Key)}
	for i, expiry := range []time.Duration{c.RootExpires, c.TargetsExpires, c.SnapshotExpires, c.TimestampExpires} {
		if expiry < time.Minute {
			return exit.UsageError("a role that expires in less than a minute is of no use")
		}
		p.Expiry[bundle.Roles[i]] = expiry
	}
	if c.Folder != "" {
		b, tests, err := checkedBundle(c.Folder, failures)
		if err != nil {
			return err
		}
		p.Bundle, result.Tests = []byte(b.Text), tests
		w.Line("%s loads; %s passed.", b.Name, output.Count(tests, "policy test"))
		if b.Table != "" {
			p.Table = []byte(b.Table)
			w.Line("%s is in the bundle, too.", b.TableName)
		}
	}
	made, err := c.readKeys(w, &p)
	if err != nil {
		return err
	}
	done, err := bundle.Publish(c.Repo, p)
	if err != nil {
		return err
	}
	if c.JSON {
		result.MadeKeys = append(result.MadeKeys, made...)
		result.add(done)
		return output.WriteJSON(out, result)
	}
	c.report(w, done)
	return w.Failure()
}

func (r *publishResult) add(done bundle.Published) {
	r.Version, r.New, r.Changed = done.Version, done.New, done.Changed
	for _, s := range done.Signed {
		r.Signed = append(r.Signed, signedRole(s))
	}
}

// readKeys reads the keys, and makes those that it may make.
func (c PolicyPublishCmd) readKeys(w *output.Printer, p *bundle.Publication) (all []madeKey, err error) {
	read := func(file string, mayMake bool) (*bundle.Key, error) {
		if !mayMake {
			key, err := bundle.ReadKey(file)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; --new-keys makes it", err)
			}
			return key, err
		}
		key, made, err := bundle.ReadOrNewKey(file)
		if made {
			all = append(all, madeKey{key.ID, file})
			w.Line("Made the key %s in %s. Keep a copy in a safe place.", bundle.ShortID(key.ID), file)
		}
		return key, err
	}
	if c.RootKey != "" {
		if p.RootKey, err = read(c.RootKey, c.NewKeys); err != nil {
			return nil, err
		}
	}
	for _, file := range c.Key {
		key, err := read(file, c.NewKeys)
		if err != nil {
			return nil, err
		}
		p.Keys = append(p.Keys, key)
	}
	for _, text := range c.Rotate {
		role, file, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(bundle.Roles, role) || file == "" {
			return nil, exit.UsageError(fmt.Sprintf("--rotate %s: write ROLE=FILE, with one of %s", text, strings.Join(bundle.Roles, ", ")))
		}
		key, err := read(file, true)
		if err != nil {
			return nil, err
		}
		p.Rotate[role] = append(p.Rotate[role], key)
	}
	return all, nil
}

// report prints the signed files and the next step of the publisher.
func (c PolicyPublishCmd) report(w *output.Printer, done bundle.Published) {
	for _, s := range done.Signed {
		var keys []string
		for _, id := range s.Keys {
			keys = append(keys, bundle.ShortID(id))
		}
		w.Line("Signed %s version %d by %s, valid until %s.", s.Role, s.Version, strings.Join(keys, " and "), output.Day(s.Expires))
	}
	switch {
	case done.New:
		w.Line("The repository %s has its first bundle. Serve the folder, and give each machine %s with a [policy_source] that names both.", c.Repo, filepath.Join(c.Repo, "root.json"))
		w.Line("Keep the root key offline: it is needed only to exchange keys, and once in %s.", days(c.RootExpires))
	case done.Changed:
		w.Line("The bundle is version %d. Bridges apply it at their next refresh; \"codex-bridge policy pull\" does so at once.", done.Version)
	default:
		w.Line("The bundle stays version %d.", done.Version)
	}
	w.Line("Publish again within %s, with or without a change, or bridges can't refresh.", days(c.TimestampExpires))
}

// days returns a time span for people.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return output.Count(int(d/day), "day")
	}
	return config.Duration(d).String()
}

// checkedBundle returns the bundle of a folder, and the number of its tests. It returns an error for a bundle
// that does not load, and prints the tests that fail.
func checkedBundle(folder string, out io.Writer) (b config.Bundle, tests int, err error) {
	b.Name, b.TableName = filepath.Join(folder, bundle.Target), filepath.Join(folder, bundle.TableTarget)
	text, err := os.ReadFile(b.Name)
	if err != nil {
		return b, 0, err
	}
	table, err := os.ReadFile(b.TableName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b, 0, err
	}
	b.Text, b.Table = string(text), string(table)
	if _, err := loadBundleFile(b); err != nil {
		return b, 0, err
	}
	files, err := testFiles(folder)
	if err != nil {
		return b, 0, err
	}
	var list []simulate.Case
	tested := b
	tested.Name = bundle.Target
	for _, name := range files {
		more, err := simulate.ReadCases(name)
		if err != nil {
			return b, 0, exit.RefuseArgs(err.Error())
		}
		list = append(list, more...)
	}
	runner := &caseRunner{policies: make(map[string]*compiled), bundle: &tested}
	results, failed, err := runner.runAll(list)
	if err != nil {
		return b, 0, err
	}
	if failed > 0 {
		w := output.NewPrinter(out)
		for _, one := range results {
			printResult(w, one, false)
		}
		return b, 0, errors.Join(w.Failure(), fmt.Errorf("%s of %d failed; nothing was published", output.Count(failed, "policy test"), len(list)))
	}
	return b, len(list), nil
}

// loadBundleFile loads the files of a bundle.
func loadBundleFile(b config.Bundle) (*config.Config, error) {
	return config.LoadBundle(b, config.Options{Home: config.Discover("").Home, Check: settings.CheckPolicy})
}

// testFiles returns the policy tests of a folder.
func testFiles(folder string) (files []string, err error) {
	for _, dir := range []string{folder, filepath.Join(folder, "tests")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !(dir != folder && errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		for _, e := range entries {
			isBundle := dir == folder && e.Name() == bundle.Target
			if ext := filepath.Ext(e.Name()); !isBundle && !e.IsDir() && (ext == ".toml" || ext == ".jsonl") {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files, nil
}
