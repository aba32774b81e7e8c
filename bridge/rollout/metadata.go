package rollout

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/rpc"
)

// Subagent is the thread of a subagent, as Codex has recorded it.
type Subagent struct {
	Path   string // its rollout file
	Parent string // the id of the thread that spawned it
}

// threadID matches the ids that Codex creates: a UUID of version 7, which starts with the
// milliseconds since 1970.
var threadID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
})

// maxFirstLine is how many bytes of a file's first line are read. It has the instructions and the
// tools of the request that started the thread.
const maxFirstLine = 64 << 20

var errFirstLine = fmt.Errorf("its first line is incomplete, or longer than %d MiB", maxFirstLine>>20)

var errNotSubagent = errors.New("not the thread of a subagent")

// FindSubagent finds the rollout file of a subagent's thread by its id. It is an error if there is
// more than one.
func FindSubagent(codexHome, id string) (Subagent, error) {
	path, err := findFile(codexHome, id)
	if err != nil {
		return Subagent{}, errNotSubagent
	}
	line, err := readFirstLine(codexHome, path)
	if err != nil {
		return Subagent{}, err
	}
	doc, err := rpc.ParseValue(line)
	if err != nil {
		return Subagent{}, err
	}
	meta := doc.Root().Get("payload")
	parent, _ := meta.Get("parent_thread_id").Text()
	spawn := meta.Get("source").Get("subagent").Get("thread_spawn").Get("parent_thread_id")
	if !doc.Root().Get("type").Is("session_meta") || !meta.Get("id").Is(id) || parent == "" || parent == id || !spawn.Is(parent) {
		return Subagent{}, errNotSubagent
	}
	return Subagent{Path: path, Parent: parent}, nil
}

var errNotOne = errors.New("there is no file, or more than one, with that id")

// findFile finds the rollout file of a thread by its id. It is an error if there is more than one,
// such as after thread/revert.
func findFile(codexHome, id string) (string, error) {
	paths := findFiles(codexHome, id)
	if len(paths) != 1 {
		return "", errNotOne
	}
	return paths[0], nil
}

// findFiles returns the rollout files of a thread, the oldest first.
//
// Measured with Codex 0.169: after thread/revert Codex goes on in another file. Its name has another
// id behind that of the thread, and the time of the revert.
func findFiles(codexHome, id string) (paths []string) {
	if codexHome == "" || !threadID().MatchString(id) {
		return nil
	}
	for _, folder := range dayFolders(codexHome, id) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // no thread was started on that day
		}
		for _, entry := range entries {
			name := strings.TrimSuffix(entry.Name(), compressedSuffix)
			if strings.HasPrefix(name, "rollout-") && (strings.HasSuffix(name, "-"+id+".jsonl") || strings.Contains(name, "-"+id+"_")) {
				paths = append(paths, filepath.Join(folder, entry.Name()))
			}
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return paths
}

// HasFile reports whether a file in Codex's session folders has the id of a thread in its name. It
// is true if a folder can't be read.
func HasFile(codexHome, id string) (found bool) {
	for _, name := range sessionFolders {
		_ = filepath.WalkDir(filepath.Join(codexHome, name), func(_ string, entry fs.DirEntry, err error) error {
			if found = found || err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && strings.Contains(entry.Name(), id); found {
				return fs.SkipAll
			}
			return nil
		}) // the function returns no error
	}
	return found
}

// dayFolders returns the folders of the day on which the thread was created, and of the days before
// and after: Codex names them by the local time of an unknown time zone.
func dayFolders(codexHome, id string) []string {
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil {
		return nil
	}
	var millis int64
	for _, b := range raw[:6] {
		millis = millis<<8 | int64(b)
	}
	made := time.UnixMilli(millis).UTC()
	var folders []string
	for _, day := range []int{-1, 0, 1} {
		folders = append(folders, filepath.Join(codexHome, "sessions", filepath.FromSlash(made.AddDate(0, 0, day).Format("2006/01/02"))))
	}
	return folders
}

// readFirstLine returns the first line of a file.
func readFirstLine(codexHome, path string) ([]byte, error) {
	f, err := open(codexHome, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, closeText, err := content(f)
	if err != nil {
		return nil, err
	}
	defer closeText()
	line, err := bufio.NewReader(io.LimitReader(text, maxFirstLine)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, errFirstLine
	}
	if err != nil {
		return nil, err
	}
	return line[:len(line)-1], nil
}

// DynamicTools returns the dynamic tools that a thread was started with, as Codex records them: the
// list in thread/start, or an empty one. Measured: a fork has the tools of its original, and
// thread/resume and thread/fork can't set others.
func DynamicTools(codexHome, path string) (json.RawMessage, error) {
	line, err := readFirstLine(codexHome, path)
	if err != nil {
		return nil, err
	}
	doc, err := rpc.ParseValue(line)
	if err != nil {
		return nil, err
	}
	meta := doc.Root().Get("payload")
	if !doc.Root().Get("type").Is("session_meta") || meta.Kind() != rpc.Object {
		return nil, errMeta
	}
	list := meta.Get("dynamic_tools")
	switch list.Kind() {
	case rpc.Absent, rpc.Null:
		return json.RawMessage("[]"), nil
	case rpc.Array:
		return list.Raw(), nil
	}
	return nil, errMeta
}

// OpenedFolder returns the folder in which the thread of a rollout file was opened. If there is no file, the error is
// fs.ErrNotExist.
func OpenedFolder(codexHome, path, id string) (string, error) {
	line, err := readFirstLine(codexHome, path)
	if err != nil {
		return "", err
	}
	doc, err := rpc.ParseValue(line)
	if err != nil {
		return "", fmt.Errorf("its first line: %w", err)
	}
	meta := doc.Root().Get("payload")
	opened, _ := meta.Get("cwd").Text()
	if !doc.Root().Get("type").Is("session_meta") || !meta.Get("id").Is(id) || opened == "" {
		return "", errMeta
	}
	return opened, nil
}

var errNoFile = errors.New("there is no file with that id")

// Size returns the size of a thread's newest file in bytes.
func Size(codexHome, id string) (int64, error) {
	paths := findFiles(codexHome, id)
	if len(paths) == 0 {
		return 0, errNoFile
	}
	info, err := os.Lstat(paths[len(paths)-1])
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errForeign
	}
	return info.Size(), nil
}
