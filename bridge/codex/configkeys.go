package codex

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"codex-bridge.example/bridge/child"
)

// configTable is a table of config.toml whose keys configKeys lists.
type configTable struct {
	name  string
	seeds []string // keys of the table that few other tables have: one must be in the program
	args  []string
}

// configTables are the root and the tables with keys that the policy has rules for. Other tables
// take any key, or have no key that is rare.
var configTables = []configTable{
	{"", []string{"sandbox_workspace_write", "project_doc_max_bytes"}, nil},
	{"apps._default", []string{"destructive_enabled", "default_tools_approval_mode"}, nil},
	{"auto_review", []string{"conversation_history_max_output_tokens", "circuit_break_action"}, nil},
	{"history", []string{"persistence"}, nil},
	{"mcp_servers.NAME", []string{"bearer_token_env_var", "env_http_headers"}, []string{"-c", "mcp_servers.NAME.command=a"}},
	{"memories", []string{"generate_memories", "use_memories"}, nil},
	{"model_providers.NAME", []string{"env_http_headers", "stream_idle_timeout_ms"}, []string{"-c", "model_providers.NAME.name=a"}},
	{"otel", []string{"log_user_prompt", "trace_exporter"}, nil},
	{"sandbox_workspace_write", []string{"exclude_slash_tmp", "exclude_tmpdir_env_var"}, nil},
	{"shell_environment_policy", []string{"include_only", "ignore_default_excludes"}, nil},
	{"skills", []string{"include_instructions"}, nil},
	{"tools", []string{"update_plan", "experimental_request_user_input"}, nil},
}

// path returns the path of a key in the table.
func (t configTable) path(key string) string {
	if t.name == "" {
		return key
	}
	return t.name + "." + key
}

// configKeys returns the keys of config.toml.
//
// No command of Codex lists them. But with --strict-config Codex reports an unknown key, and its
// program has the keys of each table as a list of strings. So configKeys looks up the seeds of a
// table in those lists, and tries the strings on both sides until Codex reports an unknown one.
// Measured with Codex 0.169: the root has 106 keys, as many as Codex's own error messages say.
func (c Command) configKeys(ctx context.Context) ([]string, error) {
	program, err := nativeProgram(c.Path)
	if err != nil {
		return nil, err
	}
	lists, err := stringLists(program)
	if err != nil {
		return nil, fmt.Errorf("the lists of strings in %s can't be read: %w", program, err)
	}
	c.Path = program
	var mu sync.Mutex
	var keys []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, table := range configTables {
		group.Go(func() error {
			found, err := c.tableKeys(ctx, table, lists)
			mu.Lock()
			defer mu.Unlock()
			for _, key := range found {
				keys = append(keys, table.path(key))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(keys)
	return keys, nil
}

// tableKeys returns the keys of a table.
func (c Command) tableKeys(ctx context.Context, table configTable, lists [][]string) ([]string, error) {
	known := make(map[string]bool)
	isKey := func(key string) (bool, error) {
		if _, ok := known[key]; !ok {
			is, err := c.acceptsKey(ctx, table, key)
			if err != nil {
				return false, err
			}
			known[key] = is
		}
		return known[key], nil
	}
	if is, err := isKey("codex_bridge_no_such_key"); err != nil {
		return nil, err
	} else if is {
		return nil, fmt.Errorf("Codex does not report an unknown key of [%s]", table.name)
	}
	for _, list := range lists {
		for at, word := range list {
			if !slices.Contains(table.seeds, word) {
				continue
			}
			for _, step := range []int{1, -1} {
				for i := at; i >= 0 && i < len(list); i += step {
					if is, err := isKey(list[i]); err != nil {
						return nil, err
					} else if !is {
						break
					}
				}
			}
		}
	}
	maps.DeleteFunc(known, func(_ string, is bool) bool { return !is })
	if len(known) == 0 {
		return nil, fmt.Errorf("the program has no list with a key of [%s] such as %s", table.name, table.seeds[0])
	}
	return slices.Collect(maps.Keys(known)), nil
}

// acceptsKey reports whether Codex knows a key of a table. It gives the key a number, so a known key
// may be reported as well, but not as unknown.
func (c Command) acceptsKey(ctx context.Context, table configTable, key string) (bool, error) {
	env, err := childEnviron(c.Env)
	if err != nil {
		return false, err
	}
	args := slices.Concat([]string{c.Path}, c.Args, []string{"app-server", "--strict-config", "--print-startup-config"}, table.args)
	ended, err := child.Run(ctx, child.Command{
		Args: append(args, "-c", table.path(key)+"=1"), Env: env, MaxStdout: maxOutput, MaxStderr: 4096, Grace: time.Second,
	})
	if err != nil {
		return false, fmt.Errorf("%s app-server --print-startup-config: %w", c.Path, err)
	}
	text := string(ended.Stdout) + string(ended.Stderr)
	if strings.Contains(text, "unknown configuration field `"+table.path(key)+"`") {
		return false, nil
	}
	if strings.Contains(text, "unexpected argument") {
		return false, errors.New("this Codex does not check configuration keys")
	}
	return true, nil
}

// nativeProgram returns the program that path starts: npm's codex is a script beside it.
func nativeProgram(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	const vendor = "vendor/*/*/codex"
	npm := filepath.Dir(filepath.Dir(resolved)) // …/@openai/codex
	candidates := []string{resolved}
	for _, pattern := range []string{vendor, "../codex-linux-*/" + vendor, "node_modules/@openai/codex-linux-*/" + vendor} {
		found, err := filepath.Glob(filepath.Join(npm, filepath.FromSlash(pattern)))
		if err != nil {
			return "", err
		}
		candidates = append(candidates, found...)
	}
	for _, candidate := range candidates {
		if isLinuxProgram(candidate) {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("%s is not a Linux program, and none is beside it; the keys can be read from Codex for Linux only", path)
}

func isLinuxProgram(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = elf.NewFile(file)
	return err == nil
}

// keyName matches the names in lists of strings. It is compiled when it is needed: every start of the
// bridge would pay for it.
var keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_$-]{1,80}$`) })

// stringLists returns the lists of names in a Linux program that is written in Rust: consecutive
// pairs of the address and the length of a text.
func stringLists(program string) ([][]string, error) {
	file, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	texts, pairs := f.Section(".rodata"), f.Section(".data.rel.ro")
	if texts == nil || pairs == nil || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, errors.New("it has an unknown format")
	}
	data, err := texts.Data()
	if err != nil {
		return nil, err
	}
	words, err := pairs.Data()
	if err != nil {
		return nil, err
	}
	name := func(at int) (string, bool) {
		start := binary.LittleEndian.Uint64(words[at:]) - texts.Addr
		length := binary.LittleEndian.Uint64(words[at+8:])
		if start >= uint64(len(data)) || length > 80 || start+length > uint64(len(data)) {
			return "", false
		}
		text := data[start : start+length]
		return string(text), keyName().Match(text)
	}
	var lists [][]string
	for phase := 0; phase < 16; phase += 8 {
		var list []string
		for at := phase; at+16 <= len(words); at += 16 {
			text, ok := name(at)
			if ok {
				list = append(list, text)
			}
			if (!ok || at+32 > len(words)) && list != nil {
				lists, list = append(lists, list), nil
			}
		}
	}
	return lists, nil
}
