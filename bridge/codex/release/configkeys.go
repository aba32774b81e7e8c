package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/rpc"
)

// configKeys returns the keys of config.toml, as paths with dots.
//
// No command of Codex lists them. But the program has the keys of each table as a list of strings, and
// a running app-server reads config.toml for some requests. Its error has the line of the first key
// whose value has a wrong type. So configKeys writes strings of the program as keys of a table, with a
// value of a wrong type, and removes each key that Codex complains about until it accepts the rest.
func configKeys(ctx context.Context, c codex.Command, home string, features []string) ([]string, error) {
	program, err := nativeProgram(c.Path)
	if err != nil {
		return nil, err
	}
	lists, err := stringLists(program)
	if err != nil {
		return nil, fmt.Errorf("the lists of strings in %s can't be read: %w", program, err)
	}
	server, err := c.Connect(ctx, home)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(home, "config.toml")
	keys, err := probeKeys(lists, features, func(text string) (string, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		_, err := server.Call(ctx, "experimentalFeature/list", struct{}{})
		if refusal := new(rpc.Error); errors.As(err, &refusal) {
			return refusal.Message, nil
		}
		return "", err
	})
	return keys, errors.Join(err, server.Close(ctx))
}

const (
	unknownKey = "codex_bridge_no_such_key"
	anyName    = "NAME" // a key of a table with names of the user
	// featuresTable has a name for each feature.
	featuresTable = "features"
	wrongValue    = "1.5"   // has a wrong type for nearly all keys
	otherValue    = `"a b"` // has a wrong type for the others, which are numbers
	// alike is how many lists of one type in a table are shown as one, like those of the events of hooks.
	alike     = 4
	maxTables = 7   // levels of tables
	maxKeys   = 500 // in a table
	// maxTried is how many keys are tried at once. Measured with Codex 0.171: a request with 1,500 keys
	// takes 7 ms, one with few takes 1 ms.
	maxTried = 400
)

// keyProber finds the keys of config.toml.
type keyProber struct {
	ask     func(text string) (string, error) // returns Codex's complaint about a config.toml, or ""
	lists   [][]string
	words   []string // of lists, sorted
	found   map[string]bool
	structs map[string]map[string]string // the result of tableKeys by the name of Codex's type
	// features are the names in [features]. Codex accepts a feature that it does not know.
	features []string
}

// probeKeys returns the keys of config.toml, sorted. Each is in one of the lists. ask returns Codex's
// complaint about a config.toml, or "".
func probeKeys(lists [][]string, features []string, ask func(text string) (string, error)) ([]string, error) {
	p := &keyProber{found: make(map[string]bool), structs: make(map[string]map[string]string), features: features}
	name := regexp.MustCompile(`^([a-z_][a-z0-9_-]*|[A-Z][a-z][A-Za-z]*)$`)
	words := map[string]bool{"_default": true} // of [apps]; no list has it
	for _, list := range lists {
		if len(list) < 2 { // names of spans and counters
			continue
		}
		p.lists = append(p.lists, list)
		for _, word := range list {
			if name.MatchString(word) {
				words[word] = true
			}
		}
	}
	p.words = slices.Sorted(maps.Keys(words))
	p.ask = func(text string) (string, error) {
		complaint, err := ask(text)
		return strings.TrimSuffix(complaint, "\n"), err
	}
	if complaint, err := p.ask(""); err != nil || complaint != "" {
		return nil, errors.Join(err, errors.New(complaint))
	}
	if err := p.explore(configTable{}, ""); err != nil {
		return nil, err
	}
	if len(p.found) == 0 {
		return nil, errors.New("Codex complains about no key of config.toml")
	}
	return slices.Sorted(maps.Keys(p.found)), nil
}

// configTable is a table of config.toml.
type configTable struct {
	path   []string
	as     string // the path to show
	header string // the lines of the file that open the table
}

// shown returns the path of a key to show.
func (t configTable) shown(key string) string { return strings.TrimPrefix(t.as+"."+key, ".") }

// child returns a table inside t. In a list it is the last one.
func (t configTable) child(key string, inList bool) configTable {
	path := append(slices.Clip(t.path), key)
	form := "[%s]\n"
	if inList {
		form = "[[%s]]\n"
	}
	return configTable{path, t.shown(key), t.header + fmt.Sprintf(form, strings.Join(path, "."))}
}

// with returns the file with words as keys of the table.
func (t configTable) with(value string, words ...string) string {
	var b strings.Builder
	b.WriteString(t.header)
	for _, word := range words {
		b.WriteString(word + "=" + value + "\n")
	}
	return b.String()
}

// place finds the place in a complaint.
var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^.*config\.toml:([0-9]+):[0-9]+: `) })

// lineOf returns the line that a complaint names, from 0, and the complaint without it.
func lineOf(complaint string) (line int, rest string) {
	m := place().FindStringSubmatchIndex(complaint)
	if m == nil {
		return -1, complaint
	}
	_, _ = fmt.Sscan(complaint[m[2]:m[3]], &line)
	return line - 1, complaint[m[1]:]
}

// explore adds the keys of a table, and of the tables in it. about is Codex's complaint about a number
// in place of the table.
func (p *keyProber) explore(t configTable, about string) error {
	if len(t.path) > maxTables {
		return nil
	}
	known, err := p.keysOf(t, about)
	if err != nil {
		return err
	}
	if _, ok := known[featuresTable]; ok && len(t.path) == 0 { // a number is no mistake: -c changes the table
		known[featuresTable] = "expected struct"
	}
	inList, ofType := make(map[string]bool), make(map[string]int)
	for key, about := range known {
		if inList[key] = strings.Contains(about, "expected a sequence"); inList[key] {
			if _, known[key], err = p.about(t, "["+wrongValue+"]", key); err != nil {
				return err
			}
			ofType[typeName().FindString(known[key])]++
		}
	}
	done := make(map[string]bool)
	keys := slices.Sorted(maps.Keys(known))
	if at, ok := slices.BinarySearch(keys, featuresTable); ok { // unionKeys uses the other keys
		keys = append(slices.Delete(keys, at, at+1), featuresTable)
	}
	for _, key := range keys {
		if key != anyName {
			p.found[t.shown(key)] = true
		}
		about := known[key]
		if !isTable(about) {
			continue
		}
		inside := t.child(key, inList[key])
		if name := typeName().FindString(about); inList[key] && ofType[name] >= alike && name != "" {
			if done[name] {
				continue
			}
			done[name], inside.as = true, t.shown(anyName)
		}
		if err := p.explore(inside, about); err != nil {
			return err
		}
	}
	return nil
}

// isTable reports whether a complaint about a number may mean that a table is needed.
func isTable(complaint string) bool {
	for _, words := range []string{"expected struct", "expected a map", "untagged enum", "tagged enum", "unit variant", "string or map", "string or table"} {
		if strings.Contains(complaint, words) {
			return true
		}
	}
	return false
}

var typeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`expected (struct|internally tagged enum) \w+`) })

// keysOf is tableKeys, once for each type of Codex.
func (p *keyProber) keysOf(t configTable, about string) (map[string]string, error) {
	m := typeName().FindString(about)
	if known, ok := p.structs[m]; ok && m != "" {
		return known, nil
	}
	known := make(map[string]string)
	err := p.tableKeys(t, about, known)
	p.structs[m] = known
	return known, err
}

// tableKeys adds the keys of a table, each with Codex's complaint about a wrong value.
func (p *keyProber) tableKeys(t configTable, about string, known map[string]string) error {
	complaint, err := p.ask(t.with(wrongValue, unknownKey))
	if err != nil {
		return err
	}
	_, control := lineOf(complaint)
	switch {
	case listedNames(control) != nil:
		return p.listedKeys(t, control, known)
	case strings.Contains(control, noVariant):
		return p.unionKeys(t, known)
	case strings.HasPrefix(control, "missing field `"):
		if variants, err := p.variants(t, control); err != nil || variants != nil {
			for _, variant := range variants {
				err = errors.Join(err, p.tableKeys(variant, about, known))
			}
			return err
		}
	case strings.HasPrefix(control, "invalid type"): // a table with names of the user
		if isTable(control) {
			known[anyName] = control
		}
		if !strings.Contains(about, "expected struct") {
			return nil
		}
		if slices.Equal(t.path, []string{featuresTable}) {
			return p.otherTables(t, p.features, control, known)
		}
		if err := p.otherTables(t, p.reserved(), control, known); err != nil {
			return err
		}
		for _, value := range []string{"{}", `"a"`, "true"} { // besides keys
			complaint, err := p.ask(t.with(value, unknownKey))
			if err != nil {
				return err
			}
			if complaint == "" {
				return p.complaints(t, value, "", p.words, known)
			}
		}
		return nil
	}
	if err := p.complaints(t, wrongValue, control, p.words, known); err != nil {
		return err
	}
	if complaint, err = p.ask(t.with(otherValue, unknownKey)); err != nil {
		return err
	}
	_, control = lineOf(complaint)
	return p.complaints(t, otherValue, control, p.beside(known), known)
}

// beside returns the strings beside known keys in lists.
func (p *keyProber) beside(known map[string]string) []string {
	words := make(map[string]bool)
	for _, list := range p.lists {
		for at, word := range list {
			if _, ok := known[word]; ok {
				for _, other := range list[max(0, at-3):min(len(list), at+4)] {
					words[other] = true
				}
			}
		}
	}
	maps.DeleteFunc(words, func(word string, _ bool) bool { _, ok := slices.BinarySearch(p.words, word); return !ok })
	return slices.Sorted(maps.Keys(words))
}

// otherTables adds the names whose type is not that of other names, control.
func (p *keyProber) otherTables(t configTable, names []string, control string, known map[string]string) error {
	for _, name := range names {
		_, complaint, err := p.about(t, wrongValue, name)
		if err != nil {
			return err
		}
		if complaint != control && complaint != "" { // of what Connect sets there is none
			known[name] = complaint
		}
	}
	return nil
}

// reserved returns the words that a table with names of the user may have for itself, such as _default.
func (p *keyProber) reserved() []string {
	return slices.DeleteFunc(slices.Clone(p.words), func(word string) bool { return !strings.HasPrefix(word, "_") })
}

// complaints adds the words that are keys of a table, and whose type is not that of the value. control
// is the complaint about an unknown key.
func (p *keyProber) complaints(t configTable, value, control string, all []string, known map[string]string) error {
	for words := range slices.Chunk(all, maxTried) {
		words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { _, ok := known[word]; return ok })
		for len(words) > 0 {
			at, err := p.culprit(t, value, control, words)
			if err != nil {
				return err
			}
			if at < 0 {
				break
			}
			_, complaint, err := p.about(t, wrongValue, words[at])
			if err != nil {
				return err
			}
			if known[words[at]] = complaint; len(known) > maxKeys { // it accepts certain names, as of HTTP headers
				clear(known)
				return nil
			}
			words = slices.Delete(words, at, at+1)
		}
	}
	return nil
}

// about returns Codex's complaint about keys, and its line.
func (p *keyProber) about(t configTable, value string, words ...string) (line int, complaint string, err error) {
	complaint, err = p.ask(t.with(value, words...))
	line, complaint = lineOf(complaint)
	return line, complaint, err
}

// culprit returns the index of a word that makes Codex complain; -1 if none does. If the complaint has
// not the word's line, culprit looks for it in halves.
func (p *keyProber) culprit(t configTable, value, control string, words []string) (int, error) {
	low, high, tried := 0, len(words), len(words) // the word is in low to high; those up to tried are tried next
	for {
		line, complaint, err := p.about(t, value, words[low:tried]...)
		at := line - strings.Count(t.header, "\n")
		switch {
		case err != nil || complaint == control && tried == len(words) && low == 0:
			return -1, err
		case complaint == control:
			low = tried
		case at >= 0 && at < tried-low:
			return low + at, nil
		default:
			high = tried
		}
		if high-low == 1 {
			return low, nil
		}
		tried = (low + high) / 2
	}
}
