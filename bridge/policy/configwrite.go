package policy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"codex-bridge.example/rpc"
)

// configKey is a key of Codex's configuration that clients may write. Its value limits no thread, or
// Allowed reports why the policy forbids it.
type configKey struct {
	names   []string // "*" is any name; a last "**" is any names
	allowed func(c *request, names []string, v rpc.Value) (rule, reason string)
}

// writeRules has the rules that the table of keys in package methods names for writing. nil: any client may write the
// key.
var writeRules = map[string]func(c *request, names []string, v rpc.Value) (rule, reason string){
	"any": nil, "model": (*request).refusesModelKey, "effort": (*request).refusesEffortKey, "trust": (*request).refusesTrustKey,
}

// keyPathName is one name of a key path: a bare one, or one in quotes, in which only backslashes
// are escaped. Measured with Codex 0.169: it reads these, and no others, in the same way.
var keyPathName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Za-z0-9_-]+|"(?:[^"\\\x00-\x1f\x7f]|\\\\)*")`)
})

// Bounds of a write. Measured with Codex 0.169: it writes a table in 200 others, and cannot read its
// configuration again.
const (
	maxConfigEdits = 100     // of a request
	maxKeyPath     = 8 << 10 // bytes
	maxKeyNames    = 8
	maxConfigValue = 64 << 10 // bytes of JSON
)

// plainNumber is a number that Codex writes as a number. Measured with Codex 0.169: it writes 1e400
// as a table.
var plainNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]{1,15}$`) })

// parseKeyPath returns the names of a key path; false if Codex may read other names, or could not
// read its configuration again.
func parseKeyPath(path string) (names []string, ok bool) {
	if len(path) > maxKeyPath {
		return nil, false
	}
	for {
		name := keyPathName().FindString(path)
		if name == "" || len(names) == maxKeyNames {
			return nil, false
		}
		path = path[len(name):]
		if name[0] == '"' {
			name = strings.ReplaceAll(name[1:len(name)-1], `\\`, `\`)
		}
		if strings.HasPrefix(name, "$") {
			return nil, false // Codex's decoders have private names, after which config/read fails
		}
		names = append(names, name)
		if path == "" {
			return names, true
		}
		if path[0] != '.' {
			return nil, false
		}
		path = path[1:]
	}
}

func (k *configKey) matches(names []string) bool {
	pattern := k.names
	if last := len(pattern) - 1; pattern[last] == "**" {
		if len(names) <= last {
			return false
		}
		names, pattern = names[:last], pattern[:last]
	}
	return slices.EqualFunc(names, pattern, func(name, pattern string) bool { return pattern == "*" || name == pattern })
}

// decideConfigValue checks the one edit of config/value/write.
func (c *request) decideConfigValue() { c.decideConfigEdit("params", c.params) }

// decideConfigEdits checks the edits of config/batchWrite. Codex makes all of them or none.
func (c *request) decideConfigEdits() {
	edits, ok := c.requireArray("edits", "edits")
	if !ok {
		return
	}
	n := 0
	for edit := range edits.Elements() {
		if n == maxConfigEdits {
			c.refuse(rpc.CodeRefused, "params.edits", RuleMethods, "there are more than "+strconv.Itoa(n)+" edits", "send them in several requests")
		}
		if c.err == nil {
			c.decideConfigEdit("params.edits["+strconv.Itoa(n)+"]", edit)
		}
		n++
	}
}

func (c *request) decideConfigEdit(at string, edit rpc.Value) {
	path, _ := edit.Get("keyPath").Text()
	names, ok := parseKeyPath(path)
	i := slices.IndexFunc(keys().writable, func(k configKey) bool { return k.matches(names) })
	if !ok || i < 0 {
		c.refuse(rpc.CodeRefused, at+".keyPath", RuleMethods, FormatValue(edit.Get("keyPath"))+" is not one of the keys that clients may write",
			"change Codex's config.toml in an editor, or use a setting of the thread")
		return
	}
	value := edit.Get("value")
	if !isPlainConfigValue(value) {
		c.refuse(rpc.CodeRefused, at+".value", RuleMethods, "the value of "+path+" is "+FormatValue(value), "send null, a text, whole number or boolean, or a list of texts, of at most 64 KiB")
		return
	}
	if allowed := keys().writable[i].allowed; allowed != nil {
		if rule, reason := allowed(c, names, value); rule != "" {
			c.refuse(rpc.CodeRefused, at+".value", rule, reason, "choose a value that the policy allows, or change Codex's config.toml in an editor")
		}
	}
}

// isPlainConfigValue reports whether Codex writes a value without keys of its own.
func isPlainConfigValue(v rpc.Value) bool {
	switch v.Kind() {
	case rpc.Null, rpc.Bool:
		return true
	case rpc.String:
		return len(v.Raw()) <= maxConfigValue
	case rpc.Number:
		return plainNumber().Match(v.Raw())
	case rpc.Array:
		for e := range v.Elements() {
			if e.Kind() != rpc.String {
				return false
			}
		}
		return len(v.Raw()) <= maxConfigValue
	}
	return false
}

// refusesModelKey returns the rule and the reason why the policy refuses a model for new threads.
// Without the key, Codex chooses one, which the bridge checks when a thread opens.
func (c *request) refusesModelKey(_ []string, v rpc.Value) (rule, reason string) {
	if name, ok := v.Text(); v.Kind() != rpc.Null && (!ok || !c.p.AllowsModel(name)) {
		return RuleModels, FormatValue(v) + " is not in " + c.p.ModelList()
	}
	return "", ""
}

func (c *request) refusesEffortKey(_ []string, v rpc.Value) (rule, reason string) {
	if name, ok := v.Text(); v.Kind() != rpc.Null && (!ok || !c.p.AllowsEffort(name)) {
		return RuleEfforts, FormatValue(v) + " is not in " + c.p.EffortList()
	}
	return "", ""
}

// refusesTrustKey returns the rule and the reason why the policy refuses the trust in a project. To
// remove an entry may also add trust, namely that of the repository's root.
//
// A trusted project may forbid something: less trust would remove that. So a client may distrust only
// projects to which no trust of the user applies.
func (c *request) refusesTrustKey(names []string, v rpc.Value) (rule, reason string) {
	switch {
	case c.p.trust == trustCodex && v.Is(string(trusted)):
		return "", ""
	case c.p.trust != trustCodex && !v.Is(string(untrusted)):
		return ruleTrust, "only the user may trust a project, in Codex's config.toml; the policy has project_trust = " + strconv.Quote(c.p.trust)
	case c.st.Defaults == nil:
		c.wantConfiguration(c.st.StartFolder)
		return "", ""
	}
	project, err := c.trustedBeside(names[1])
	switch {
	case err != nil:
		return ruleTrust, "the bridge can't find out which projects share their trust with " + names[1] + ": " + err.Error()
	case project != "":
		return ruleTrust, "Codex's config.toml trusts " + project + ", and without that trust nothing counts that the project forbids"
	}
	return "", ""
}

// trustedBeside returns a trusted project whose trust an entry for folder could remove: the folder itself,
// one around it or in it, or one that shares a repository with it; "" for none.
func (c *request) trustedBeside(folder string) (string, error) {
	own := c.projects()
	at, err := c.withRoots(folder)
	if err != nil {
		return "", err
	}
	for _, project := range slices.Concat(own.trustedKeys(), own.Others) {
		all, err := c.withRoots(project)
		if err != nil {
			return "", fmt.Errorf("the trusted project %s: %w", project, err)
		}
		for _, one := range all {
			if slices.ContainsFunc(at, func(other string) bool { return Within(one, other) || Within(other, one) }) {
				return project, nil
			}
		}
	}
	return "", nil
}

// withRoots returns a folder as it is written, the one to which it leads, and the roots of its repository.
func (c *request) withRoots(folder string) ([]string, error) {
	all := []string{trustKey(folder)}
	if !filepath.IsAbs(folder) {
		return all, nil // Codex looks up absolute paths
	}
	at, err := c.st.Canonical(folder)
	if err != nil {
		return nil, err
	}
	keys, err := c.projectKeys(at)
	for _, key := range keys {
		all = append(all, trustKey(key))
	}
	return all, err
}

// decideConfigFile checks the file that a client writes, and removes it: Codex then writes the
// user's configuration.
func (c *request) decideConfigFile() {
	v := c.params.Get("filePath")
	if IsUnset(v) {
		return
	}
	at, _ := c.st.Canonical(TextOf(v))
	own, err := c.st.Canonical(filepath.Join(c.st.CodexHome, "config.toml")) // an error without CodexHome
	if err != nil || at != own {
		c.refuse(rpc.CodeRefused, "params.filePath", RuleMethods, FormatValue(v)+" is not the user's configuration", "omit filePath")
		return
	}
	c.dropField("filePath", RuleMethods, "Codex writes the user's configuration without it")
}

// dropConfigReload prevents a reload, which would apply the whole file to running threads. New
// threads read the file in any case.
func (c *request) dropConfigReload() {
	v := c.params.Get("reloadUserConfig")
	if reload, ok := v.Bool(); v.Exists() && (reload || !ok) {
		c.dropField("reloadUserConfig", RuleMethods, "it would change running threads; new threads have the new values")
	}
}
