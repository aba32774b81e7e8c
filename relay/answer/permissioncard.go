package answer

import (
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// permissionLines describes the requested permissions, the risks first.
func permissionLines(asked rpc.Value, d detail) []string {
	network, files := asked.Get("network"), asked.Get("fileSystem")
	var kinds []string
	for _, key := range [...]string{"network", "fileSystem"} {
		if asked.Get(key).Kind() == rpc.Object {
			kinds = append(kinds, key)
		}
	}
	lines := []string{"Permissions: none"}
	if kinds != nil {
		lines[0] = "Permissions: " + strings.Join(kinds, ", ")
	}
	if risks := risks(network, files); len(risks) > 0 {
		lines = append(lines, "High-risk targets: "+strings.Join(risks, ", "))
	}
	for _, part := range [...]struct {
		name  string
		v     rpc.Value
		value func(rpc.Value) string
	}{{"Network ", network, host}, {"File system ", files, entryText}} {
		if text := members(part.v, part.value, d); text != "" {
			lines = append(lines, part.name+text)
		}
	}
	if other := otherMembers(asked, kinds...); other != "" {
		lines = append(lines, "Not granted:"+other)
	}
	return lines
}

// members lists the members of an object with their values.
func members(v rpc.Value, value func(rpc.Value) string, d detail) string {
	var all []string
	for key, m := range v.Members() {
		if m.Kind() == rpc.Null {
			continue
		}
		text := ""
		if m.Kind() == rpc.Array {
			var list []string
			for e := range m.Elements() {
				list = append(list, value(e))
			}
			text = firstValues(list, d.values)
		} else {
			text = value(m)
		}
		all = append(all, shortValue(key)+": "+text)
	}
	if n := len(all) - d.members; n > 0 {
		return fmt.Sprintf("%s (+%d more)", strings.Join(all[:d.members], "; "), n)
	}
	return strings.Join(all, "; ")
}

// entryText returns the access and path of an entry of fileSystem.entries, or another value
// as it is. For a special folder it returns Codex's name.
func entryText(e rpc.Value) string {
	access, path := e.Get("access"), e.Get("path")
	if e.Kind() != rpc.Object || !access.Exists() || !path.Exists() {
		return shortValue(plain(e))
	}
	return shortValue(plain(access)) + " " + entryPath(path) + otherMembers(e, "access", "path")
}

// entryPath returns the path of an entry.
func entryPath(path rpc.Value) string {
	for _, name := range [...]string{"path", "pattern"} {
		if text, ok := path.Get(name).Text(); ok && text != "" {
			return shortValue(text) + otherMembers(path, "type", name)
		}
	}
	named := path.Get("value")
	if text, ok := named.Text(); ok && text != "" {
		return shortValue(text) + otherMembers(path, "type", "value")
	}
	for _, name := range [...]string{"path", "kind"} {
		if text, ok := named.Get(name).Text(); ok && text != "" {
			if below, ok := named.Get("subpath").Text(); ok && below != "" {
				text += "/" + below
			}
			return shortValue(text) + otherMembers(path, "type", "value") + otherMembers(named, "kind", name, "subpath")
		}
	}
	return shortValue(plain(path))
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

// privateHost reports whether a pattern matches hosts of a private network.
func privateHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ends := []string{".internal", ".local", ".localhost", ".lan", ".corp", ".home", ".intranet", ".private", ".home.arpa"}
	starts := []string{"10.", "127.", "169.254.", "192.168.", "172.", "fc", "fd", "fe80:"}
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(host, end) }) ||
		slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(host, start) })
}

// eachText calls visit for every string in a value.
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
