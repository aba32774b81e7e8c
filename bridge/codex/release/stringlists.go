package release

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Identity returns a text that changes when a Codex is replaced: the sizes and times of the file that path starts and of
// the program beside it. A digest would be slow: it takes 1.2 s of processor time for Codex 0.171, which has 315 MB.
func Identity(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	files := []string{resolved}
	if program, err := nativeProgram(path); err == nil && program != resolved {
		files = append(files, program)
	}
	var parts []string
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)))
	}
	return strings.Join(parts, ", "), nil
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
