package rollout

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"codex-bridge/rpc"
)

// Subagent is the thread of a subagent, as Codex has recorded it.
type Subagent struct {
	Path   string // its rollout file
	Parent string // the id of the thread that spawned it
}

// threadID matches the ids that Codex creates: a UUID of version 7, which starts with the
// milliseconds since 1970.
var threadID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// maxFirstLine is how many bytes of a file's first line are read. It has the model's instructions,
// some 20 KiB.
const maxFirstLine = 1 << 20

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

// findFile finds the rollout file of a thread by its id. It is an error if there is more than one.
func findFile(codexHome, id string) (string, error) {
	if codexHome == "" || !threadID.MatchString(id) {
		return "", errNotOne
	}
	var paths []string
	for _, folder := range dayFolders(codexHome, id) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // no thread was started on that day
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), "rollout-") && strings.HasSuffix(entry.Name(), "-"+id+".jsonl") {
				paths = append(paths, filepath.Join(folder, entry.Name()))
			}
		}
	}
	if len(paths) != 1 {
		return "", errNotOne
	}
	return paths[0], nil
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
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errForeign
	}
	line, err := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadBytes('\n')
	if err != nil {
		return nil, err // also for an incomplete line
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

// Folders returns the folder in which a thread was opened and its current folder, from Codex's
// records. It finds the thread by its id. An unknown folder is "".
func Folders(codexHome, id string) (opened, last string) {
	path, err := findFile(codexHome, id)
	if err != nil {
		return "", ""
	}
	line, err := readFirstLine(codexHome, path)
	if err != nil {
		return "", ""
	}
	doc, err := rpc.ParseValue(line)
	if err != nil || !doc.Root().Get("type").Is("session_meta") || !doc.Root().Get("payload").Get("id").Is(id) {
		return "", ""
	}
	opened, _ = doc.Root().Get("payload").Get("cwd").Text()
	settings := AppliedSettings(codexHome, path)
	if settings == nil { // Codex before 0.169 does not record them
		settings = TurnSettings(codexHome, path, "")
	}
	if settings != nil {
		last, _ = settings.Root().Get("cwd").Text()
	}
	return opened, last
}

// Size returns the size of a thread's file in bytes.
func Size(codexHome, id string) (int64, error) {
	path, err := findFile(codexHome, id)
	if err != nil {
		return 0, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errForeign
	}
	return info.Size(), nil
}
