//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
)

// program puts a shell script into the attack's own bin.
func (s *assault) program(name, script string) {
	s.t.Helper()
	path := filepath.Join(s.out, "bin", name)
	s.write(filepath.Join("out", s.word, "bin", name), "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// What writes files.
var writeAttacks = map[string]attack{
	"new":           {method: "fs/writeFile", params: `{"path":"$OUT/marker","dataBase64":""}`, effect: marked},
	"over":          {method: "fs/writeFile", params: `{"path":"$OUT/victim","dataBase64":""}`, effect: lost},
	"in workspace":  {method: "fs/writeFile", params: `{"path":"$CWD/.git/$WORD","dataBase64":""}`, effect: file("$CWD/.git/$WORD")},
	"through link":  {method: "fs/writeFile", params: `{"path":"$CWD/link-$WORD/marker","dataBase64":""}`, effect: marked},
	"positional":    {method: "fs/writeFile", params: `["$OUT/marker",""]`, effect: marked, offForm: true},
	"remove":        {method: "fs/remove", params: `{"path":"$OUT/victim"}`, effect: lost},
	"remove tree":   {method: "fs/remove", params: `{"path":"$OUT","recursive":true,"force":true}`, effect: lost},
	"copy":          {method: "fs/copy", params: `{"sourcePath":"$OUT/victim","destinationPath":"$OUT/marker"}`, effect: marked},
	"copy in":       {method: "fs/copy", params: `{"sourcePath":"$OUT/keys/key-$WORD","destinationPath":"$CWD/$WORD"}`, effect: file("$CWD/$WORD")},
	"folder":        {method: "fs/createDirectory", params: `{"path":"$OUT/marker","recursive":true}`, effect: marked},
	"feedback/save": {method: "feedback/save", params: `{"classification":"bug","includeLogs":true,"threadId":"$THREAD","extraLogFiles":["$OUT/keys/key-$WORD"],"savePath":"$OUT/marker"}`, effect: marked},
}

// What reads files, or their names, outside the workspace. Under a policy they are
// held to the roots, and refused.
var readAttacks = map[string]attack{
	"file":         {method: "fs/readFile", params: `{"path":"$OUT/keys/key-$WORD"}`, effect: secret},
	"file by link": {method: "fs/readFile", params: `{"path":"$CWD/link-$WORD/keys/key-$WORD"}`, effect: secret},
	"file up":      {method: "fs/readFile", params: `{"path":"$CWD/../out/$WORD/keys/key-$WORD"}`, effect: secret},
	// codex takes `..` as it is written, not as the system would.
	"file link up":  {method: "fs/readFile", params: `{"path":"$CWD/link-$WORD/../$WORD/keys/key-$WORD"}`, effect: secret, inert: true, rewritten: true},
	"file slashes":  {method: "fs/readFile", params: `{"path":"/$OUT//keys//key-$WORD"}`, effect: secret},
	"file escaped":  {method: "fs/readFile", params: `{"p\u0061th":"$OUT/keys\u002fkey-$WORD"}`, effect: secret},
	"file sibling":  {prepare: func(s *assault) { s.write("workspace-2/key-"+s.word, s.secret()) }, method: "fs/readFile", params: `{"path":"$CWD-2/key-$WORD"}`, effect: secret},
	"file proc":     {method: "fs/readFile", params: `{"path":"/proc/self/root/$OUT/keys/key-$WORD"}`, effect: secret},
	"file by cwd":   {method: "fs/readFile", params: `{"path":"/proc/self/cwd/link-$WORD/keys/key-$WORD"}`, effect: secret},
	"file of codex": {prepare: func(s *assault) { s.write("home/"+s.word, s.secret()) }, method: "fs/readFile", params: `{"path":"$HOME/$WORD"}`, effect: secret},
	"positional":    {method: "fs/readFile", params: `["$OUT/keys/key-$WORD"]`, effect: secret, offForm: true},
	"raw":           {method: "fs/readFile", params: `{"$serde_json::private::RawValue":"{\"path\":\"$OUT/keys/key-$WORD\"}"}`, effect: secret, offForm: true},
	"duplicate":     {method: "fs/readFile", params: `{"path":"$CWD/.git/HEAD","path":"$OUT/keys/key-$WORD"}`, effect: secret, offForm: true},
	"metadata":      {method: "fs/getMetadata", params: `{"path":"$OUT/keys/key-$WORD"}`, effect: taken},
	"metadata link": {method: "fs/getMetadata", params: `{"path":"$CWD/link-$WORD/keys/key-$WORD"}`, effect: taken},
	"folder":        {method: "fs/readDirectory", params: `{"path":"$OUT/keys"}`, effect: named},
	"folder link":   {method: "fs/readDirectory", params: `{"path":"$CWD/link-$WORD/keys"}`, effect: named},
	"watch":         {method: "fs/watch", params: `{"path":"$OUT/keys","watchId":"$WORD"}`, effect: taken},
	"watch link":    {method: "fs/watch", params: `{"path":"$CWD/link-$WORD/keys","watchId":"$WORD"}`, effect: taken},
	"search":        {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$OUT/keys"]}`, effect: named},
	"search link":   {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD/link-$WORD/keys"]}`, effect: named},
	"search up":     {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD/.."]}`, effect: named},
	"search later": {
		method: "fuzzyFileSearch/sessionStart", params: `{"sessionId":"$WORD","roots":["$OUT/keys"]}`,
		then: []said{{"fuzzyFileSearch/sessionUpdate", `{"sessionId":"$WORD","query":"key-$WORD"}`}}, effect: named,
	},
	// codex follows links when it searches: what the user has linked into the
	// workspace can be named, though not read.
	"search all": {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD"]}`, effect: named, open: true},
	// Of several roots, those inside remain.
	"search two": {prepare: unlinked, method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD","$OUT/keys"]}`, effect: named, rewritten: true},
}

// unlinked takes the link away: codex follows links when it searches.
func unlinked(s *assault) {
	if err := os.Remove(filepath.Join(s.workspace, "link-"+s.word)); err != nil {
		s.t.Fatal(err)
	}
}

// secret is what stands in the file key-$WORD.
func (s *assault) secret() string { return victim + s.word }
