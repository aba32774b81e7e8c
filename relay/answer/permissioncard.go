package answer

import (
	"strings"

	"codex-bridge/rpc"
)

// permissionLines tell what is asked for, and first of all what is grave about it.
func permissionLines(asked rpc.Value) []string {
	network, files := asked.Get("network"), asked.Get("fileSystem")
	var kinds []string
	for _, key := range [...]string{"network", "fileSystem"} {
		if asked.Get(key).Kind() == rpc.Object {
			kinds = append(kinds, key)
		}
	}
	if kinds == nil {
		return []string{"Permissions: none"}
	}
	lines := []string{"Permissions: " + strings.Join(kinds, ", ")}
	if risks := risks(network, files); len(risks) > 0 {
		lines = append(lines, "High-risk targets: "+strings.Join(risks, ", "))
	}
	for _, part := range [...]struct {
		name string
		v    rpc.Value
	}{{"Network ", network}, {"File system ", files}} {
		if members := memberTexts(part.v); members != "" {
			lines = append(lines, part.name+members)
		}
	}
	return lines
}

func memberTexts(v rpc.Value) string {
	const most = 6
	var members []string
	for key, m := range v.Members() {
		if m.Kind() == rpc.Null || len(members) == most {
			continue
		}
		var values []string
		if m.Kind() == rpc.Array {
			for e := range m.Elements() {
				if len(values) == most {
					values = append(values, "...")
					break
				}
				values = append(values, entryText(e))
			}
		} else {
			values = []string{shown(m)}
		}
		members = append(members, asPath.Replace(short(Clean(key), valueLength))+": "+strings.Join(values, ", "))
	}
	return strings.Join(members, "; ")
}

// entryText is an entry of fileSystem.entries, or a plain value.
func entryText(e rpc.Value) string {
	access, where := e.Get("access"), e.Get("path")
	switch {
	case !access.Exists() || where.Kind() != rpc.Object:
		return shown(e)
	case where.Get("path").Exists():
		return shown(access) + " " + shown(where.Get("path"))
	case where.Get("pattern").Exists():
		return shown(access) + " " + shown(where.Get("pattern"))
	}
	return shown(access) + " " + shown(where)
}

func risks(network, files rpc.Value) (found []string) {
	wildcard, private, root := false, false, false
	eachText(network, func(text string) {
		if strings.Contains(text, "*") {
			wildcard = true
			private = private || privateHost(text)
		}
	})
	eachText(files, func(text string) {
		root = root || text == "/" || text == "/**" || text == "/*" || text == "root" ||
			len(text) <= 3 && len(text) >= 2 && text[1] == ':'
	})
	if wildcard {
		found = append(found, "wildcard hosts")
	}
	if private {
		found = append(found, "private-network wildcards")
	}
	if root {
		found = append(found, "filesystem root")
	}
	if on, _ := network.Get("enabled").Bool(); on {
		found = append(found, "network access")
	}
	return found
}

// privateHost tells whether a pattern of hosts names those of a network of one's own.
func privateHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, end := range [...]string{".internal", ".local", ".localhost", ".lan", ".corp", ".home", ".intranet", ".private", ".home.arpa"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	for _, start := range [...]string{"10.", "127.", "169.254.", "192.168.", "172.", "fc", "fd", "fe80:"} {
		if strings.HasPrefix(host, start) {
			return true
		}
	}
	return false
}

// eachText visits every text of a value.
func eachText(v rpc.Value, visit func(string)) {
	if text, ok := v.Text(); ok {
		visit(text)
	}
	for _, m := range v.Members() {
		eachText(m, visit)
	}
	for e := range v.Elements() {
		eachText(e, visit)
	}
}
