package release

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

var quotedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]*)`") })

// listedNames returns the names that a complaint about an unknown one lists; nil if it lists none.
func listedNames(complaint string) (names []string) {
	if _, list, ok := strings.Cut(complaint, "available keys: "); ok {
		return strings.Split(list, ", ")
	}
	if !strings.HasPrefix(complaint, "unknown ") {
		return nil
	}
	_, list, _ := strings.Cut(complaint, ", expected ")
	for _, m := range quotedName().FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// listedKeys adds the keys that a complaint about an unknown one lists. Of the values of an enum they
// are those that are tables.
func (p *keyProber) listedKeys(t configTable, complaint string, known map[string]string) error {
	for _, name := range listedNames(complaint) {
		_, about, err := p.about(t, wrongValue, name)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(complaint, "unknown variant") || isTable(about) {
			known[name] = about
		}
	}
	return nil
}

// variants returns the forms of a table that has one for each value of the missing field that Codex
// complains about; nil if it has only one.
func (p *keyProber) variants(t configTable, complaint string) (forms []configTable, err error) {
	quoted := quotedName().FindStringSubmatch(complaint)
	if quoted == nil {
		return nil, nil
	}
	tag := quoted[1]
	if _, complaint, err = p.about(t, `"`+unknownKey+`"`, tag); err != nil {
		return nil, err
	}
	for _, name := range listedNames(complaint) {
		forms = append(forms, configTable{t.path, t.as, t.with(`"`+name+`"`, tag)})
	}
	return forms, nil
}

// rightValues are values of which most keys accept one.
var rightValues = []string{"true", "1", `"a"`, "[]", "{}"}

const (
	// enabledKey is a key of all tables that Codex accepts in place of true or false.
	enabledKey = "enabled"
	// maxSkipped is how many neighbouring keys may have values of their own, as those of an enum.
	maxSkipped = 3
)

// unionKeys adds the keys of a table that may also be true or false. Codex says only that the table is
// wrong. So each string beside a key enabled is tried until Codex accepts a value of it, in the lists that have
// keys of other tables.
func (p *keyProber) unionKeys(t configTable, known map[string]string) error {
	complaint, err := p.ask(t.with("true", enabledKey))
	if err != nil || strings.Contains(complaint, noVariant) {
		return err
	}
	known[enabledKey] = ""
	u := union{p, t, known, make(map[string]bool)}
	for _, list := range p.keyLists() {
		for at, word := range list {
			if word != enabledKey {
				continue
			}
			for _, step := range []int{1, -1} {
				if err := u.walk(list, at, step); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keyLists returns the lists with several keys that are found.
func (p *keyProber) keyLists() (lists [][]string) {
	found := make(map[string]bool)
	for path := range p.found {
		if key := path[strings.LastIndexByte(path, '.')+1:]; strings.Contains(key, "_") {
			found[key] = true
		}
	}
	for _, list := range p.lists {
		count := 0
		for _, word := range list {
			if found[word] {
				count++
			}
		}
		if count >= 5 {
			lists = append(lists, list)
		}
	}
	return lists
}

// noVariant is in the complaint about a table that is also true or false.
const noVariant = "did not match any variant"

// union finds the keys of a table that may also be true or false.
type union struct {
	*keyProber
	table   configTable
	known   map[string]string
	refused map[string]bool
}

// accepts reports whether a string of a list is a key with one of the values.
func (u union) accepts(list []string, at int, values []string) (bool, error) {
	if at < 0 || at >= len(list) || list[at] == enabledKey {
		return false, nil
	}
	word := list[at]
	if _, ok := u.known[word]; ok {
		return true, nil
	}
	if _, ok := slices.BinarySearch(u.words, word); !ok || u.refused[word] {
		return false, nil
	}
	for _, value := range values {
		complaint, err := u.ask(u.table.with(value, word))
		if err != nil {
			return false, err
		}
		if !strings.Contains(complaint, noVariant) {
			u.known[word] = ""
			return true, nil
		}
	}
	return false, nil
}

// walk tries the strings of a list from a key on, up to one that is refused. Strings between keys of
// which no value is accepted are keys too.
func (u union) walk(list []string, at, step int) error {
	for first := true; ; first = false {
		at += step
		ok, err := u.accepts(list, at, rightValues)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		if first {
			if at >= 0 && at < len(list) {
				u.refused[list[at]] = true
			}
			return nil
		}
		var skipped []string
		for ; !ok && len(skipped) <= maxSkipped; at += step {
			if at < 0 || at >= len(list) || list[at] == enabledKey {
				return nil
			}
			if ok, err = u.accepts(list, at, rightValues); err != nil {
				return err
			}
			if !ok {
				skipped = append(skipped, list[at])
			}
		}
		for _, word := range skipped {
			if ok {
				u.known[word] = ""
			} else {
				u.refused[word] = true
			}
		}
		if !ok {
			return nil
		}
		at -= step
	}
}
