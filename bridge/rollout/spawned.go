package rollout

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"codex-bridge/rpc"
)

// Spawned is the thread of a subagent, as codex has written it down.
type Subagent struct {
	Path   string // its rollout file
	Parent string // the id of the thread that has spawned it
}

// threadID is an id as codex makes them: a UUID of version 7, which begins with the
// milliseconds since 1970.
var threadID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// longestMeta is how much of a file's first line is looked at: it holds the model's
// instructions, some 20 KiB.
const maxFirstLine = 1 << 20

var errNotSubagent = errors.New("not the thread of a subagent")

// FindSpawned finds the rollout file of a subagent's thread, by its id alone, below
// CODEX_HOME/sessions. Two files of one id are none.
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

var errNotOne = errors.New("there is not one file of that id")

// find finds the rollout file of a thread by its id alone. Two of one id are none.
func findFile(codexHome, id string) (string, error) {
	if codexHome == "" || !threadID.MatchString(id) {
		return "", errNotOne
	}
	var paths []string
	for _, folder := range dayFolders(codexHome, id) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // no thread was begun on that day
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

// days are the folders of the day on which the thread was made, of the one before and
// of the one after: codex names them by the local time, wherever that is.
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

// first is the first line of a file.
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
		return nil, err // half a line among them
	}
	return line[:len(line)-1], nil
}
