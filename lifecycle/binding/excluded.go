package binding

import (
	"strings"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/rpc"
)

// Excluded returns what an overlay or the result of config/read excludes. A key of an overlay may be a path.
func Excluded(config rpc.Value) (e setting.Excluded) {
	for name, v := range config.Members() {
		first, key, isPath := strings.Cut(name, ".")
		switch table := strings.TrimSpace(first) == workspaceWriteKey; {
		case table && isPath:
			e = e.And(excludedByKey(key, v))
		case table:
			for key, v := range v.Members() {
				e = e.And(excludedByKey(key, v))
			}
		}
	}
	return e
}

func excludedByKey(key string, v rpc.Value) (e setting.Excluded) {
	on, _ := v.Bool()
	switch strings.TrimSpace(key) {
	case "exclude_tmpdir_env_var":
		e.Tmpdir = on
	case "exclude_slash_tmp":
		e.SlashTmp = on
	}
	return e
}

// Excluded returns what the thread was opened without.
func (r Replacement) Excluded() setting.Excluded {
	doc, err := rpc.ParseValue(r["config"])
	if err != nil { // it has none
		return setting.Excluded{}
	}
	return Excluded(doc.Root())
}
