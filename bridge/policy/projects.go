package policy

import (
	"fmt"
	"maps"
	"slices"

	"codex-bridge.example/rpc"
)

// Projects is the `projects` table of Codex's configuration, by source.
type Projects struct {
	// Own has the trust that files of the user and the administrator set: true for trusted, false
	// for untrusted.
	Own map[string]bool
	// Others are projects that only other sources trust, such as the command line. Sorted.
	Others []string
	// File is the user's configuration file; "" if unknown.
	File string
	// List is the file with the projects that the user trusts; "" if there is none, and all count that File
	// trusts.
	List string

	user []string // those that Own trusts by the user's file
}

// LimitUser removes the trust of the user's file in projects for which counts returns false. It counts as
// that of other sources. list is the file that counts reads.
func (p *Projects) LimitUser(list string, counts func(project string) bool) {
	p.List = list
	for _, key := range p.user {
		if !counts(key) {
			delete(p.Own, key)
			p.Others = append(p.Others, key)
		}
	}
	slices.Sort(p.Others)
}

// trustedKeys returns the projects that Own trusts, sorted.
func (p Projects) trustedKeys() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(p.Own)) {
		if p.Own[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// ownLayers are the layers that no client and no repository can write.
var ownLayers = []string{
	"user", "system", "packagedDefaults", "mdm", "enterpriseManaged", "legacyManagedConfigTomlFromFile", "legacyManagedConfigTomlFromMdm",
}

// parseProjects reads the projects of config/read with includeLayers. Without layers no project is
// trusted.
func (d *Defaults) parseProjects(result rpc.Value) error {
	layers := result.Get("layers")
	if layers.Kind() != rpc.Array && !IsUnset(layers) {
		return fmt.Errorf("config/read: layers is %v", layers.Kind())
	}
	for layer := range layers.Elements() { // an earlier layer wins
		name := layer.Get("name")
		kind, _ := name.Get("type").Text()
		if !slices.Contains(ownLayers, kind) {
			continue // clients write sessionFlags, and repositories write project
		}
		if file, ok := name.Get("file").Text(); ok && kind == "user" && d.Projects.File == "" {
			d.Projects.File = file
		}
		own, err := parseTrust(layer.Get("config").Get("projects"))
		if err != nil {
			return err
		}
		for key, is := range own {
			if _, said := d.Projects.Own[key]; !said {
				if d.Projects.Own == nil {
					d.Projects.Own = make(map[string]bool)
				}
				d.Projects.Own[key] = is
				if is && kind == "user" {
					d.Projects.user = append(d.Projects.user, key)
				}
			}
		}
	}
	all, err := parseTrust(result.Get("config").Get("projects"))
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] && !d.Projects.Own[key] {
			d.Projects.Others = append(d.Projects.Others, key)
		}
	}
	return nil
}

// parseTrust reads a `projects` table. Measured with Codex 0.169: an entry without a trust_level
// has no effect.
func parseTrust(v rpc.Value) (map[string]bool, error) {
	if v.Kind() != rpc.Object && !IsUnset(v) {
		return nil, fmt.Errorf("config/read: projects is %v", v.Kind())
	}
	levels := make(map[string]bool)
	for key, entry := range v.Members() {
		switch level := entry.Get("trust_level"); {
		case level.Is(string(trusted)):
			levels[trustKey(key)] = true
		case level.Is(string(untrusted)):
			levels[trustKey(key)] = false
		case !IsUnset(level):
			return nil, fmt.Errorf("config/read: projects: trust_level is %s", FormatValue(level))
		}
	}
	return levels, nil
}
