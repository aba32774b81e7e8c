package policy_test

import (
	"path"
	"strings"

	"codex-bridge.example/bridge/policy"
)

// trust checks that Codex finds no project that the user does not trust, in its configuration and
// the overlay. Every folder above the opened one may have a .codex and may be the project's root.
func (o *oracle) trust() {
	if o.cfg.ProjectTrust == "codex" {
		return
	}
	config, _ := o.p["config"].(map[string]any)
	for key := range config {
		if key != "projects" && strings.HasPrefix(key, "projects") {
			o.fail("overlay %s: it may win over policy's own", key)
		}
	}
	table := map[string]bool{}
	projects := o.st.Defaults.Projects
	for key, is := range projects.Own {
		table[key] = is
	}
	for _, key := range projects.Others {
		table[key] = true
	}
	overlay, _ := config["projects"].(map[string]any)
	for key, entry := range overlay {
		level := entry.(map[string]any)["trust_level"]
		if level != "trusted" && level != "untrusted" {
			o.fail("trust_level %v", level)
		}
		table[key] = level == "trusted"
	}
	folder, named := o.p["cwd"].(string)
	switch {
	case named:
	case o.method == "thread/start":
		folder = o.st.StartFolder
	default:
		folder = o.st.ThreadFolder
	}
	own := o.ownTrust(projects, folder)
	for key, is := range table {
		if is && (o.cfg.ProjectTrust == "never" || !projects.Own[key] && (!own || key != folder)) {
			o.fail("%s is trusted", key)
		}
	}
	if folder == "" || own && o.cfg.ProjectTrust == "user" {
		if _, said := table[folder]; own && !said && o.method == "thread/start" {
			o.fail("codex will write down who is trusted in %s", folder)
		}
		return
	}
	for at := folder; ; at = path.Dir(at) {
		if is, said := table[at]; is || !said {
			o.fail("%s: trusted %t, said %t", at, is, said)
		}
		if at == "/" {
			return
		}
	}
}

func (o *oracle) ownTrust(projects policy.Projects, folder string) bool {
	var roots []string
	if o.st.Repositories != nil {
		roots, _ = o.st.Repositories.Roots(folder)
	}
	yes := false
	for _, key := range append(roots, folder) {
		if is, said := projects.Own[key]; said && !is {
			return false
		} else if is {
			yes = true
		}
	}
	return yes
}
