//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
)

// program writes a shell script into the attack's own bin.
func (s *attackRun) program(name, script string) {
	s.t.Helper()
	path := filepath.Join(s.out, "bin", name)
	s.write(filepath.Join("out", s.word, "bin", name), "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// Attacks that write files.
var writeAttacks = map[string]attack{
	"new":           {method: "fs/writeFile", params: `{"path":"$OUT/marker","dataBase64":""}`, effect: hasMarker},
	"over":          {method: "fs/writeFile", params: `{"path":"$OUT/victim","dataBase64":""}`, effect: victimChanged},
	"in workspace":  {method: "fs/writeFile", params: `{"path":"$CWD/.git/$WORD","dataBase64":""}`, effect: createsFile("$CWD/.git/$WORD")},
	"through link":  {method: "fs/writeFile", params: `{"path":"$CWD/link-$WORD/marker","dataBase64":""}`, effect: hasMarker},
	"positional":    {method: "fs/writeFile", params: `["$OUT/marker",""]`, effect: hasMarker, offForm: true},
	"remove":        {method: "fs/remove", params: `{"path":"$OUT/victim"}`, effect: victimChanged},
	"remove tree":   {method: "fs/remove", params: `{"path":"$OUT","recursive":true,"force":true}`, effect: victimChanged},
	"copy":          {method: "fs/copy", params: `{"sourcePath":"$OUT/victim","destinationPath":"$OUT/marker"}`, effect: hasMarker},
	"copy in":       {method: "fs/copy", params: `{"sourcePath":"$OUT/keys/key-$WORD","destinationPath":"$CWD/$WORD"}`, effect: createsFile("$CWD/$WORD")},
	"folder":        {method: "fs/createDirectory", params: `{"path":"$OUT/marker","recursive":true}`, effect: hasMarker},
	"feedback/save": {method: "feedback/save", params: `{"classification":"bug","includeLogs":true,"threadId":"$THREAD","extraLogFiles":["$OUT/keys/key-$WORD"],"savePath":"$OUT/marker"}`, effect: hasMarker},
}

// Attacks that read files or their names outside the workspace. A policy refuses them outside the
// roots.
var readAttacks = map[string]attack{
	"file":         {method: "fs/readFile", params: `{"path":"$OUT/keys/key-$WORD"}`, effect: readSecret},
	"file by link": {method: "fs/readFile", params: `{"path":"$CWD/link-$WORD/keys/key-$WORD"}`, effect: readSecret},
	"file up":      {method: "fs/readFile", params: `{"path":"$CWD/../out/$WORD/keys/key-$WORD"}`, effect: readSecret},
	// Codex resolves `..` by the text, the system by the folders.
	"file link up":  {method: "fs/readFile", params: `{"path":"$CWD/link-$WORD/../$WORD/keys/key-$WORD"}`, effect: readSecret, inert: true, rewritten: true},
	"file slashes":  {method: "fs/readFile", params: `{"path":"/$OUT//keys//key-$WORD"}`, effect: readSecret},
	"file escaped":  {method: "fs/readFile", params: `{"p\u0061th":"$OUT/keys\u002fkey-$WORD"}`, effect: readSecret},
	"file sibling":  {prepare: func(s *attackRun) { s.write("workspace-2/key-"+s.word, s.secretText()) }, method: "fs/readFile", params: `{"path":"$CWD-2/key-$WORD"}`, effect: readSecret},
	"file proc":     {method: "fs/readFile", params: `{"path":"/proc/self/root/$OUT/keys/key-$WORD"}`, effect: readSecret},
	"file by cwd":   {method: "fs/readFile", params: `{"path":"/proc/self/cwd/link-$WORD/keys/key-$WORD"}`, effect: readSecret},
	"file of codex": {prepare: func(s *attackRun) { s.write("home/"+s.word, s.secretText()) }, method: "fs/readFile", params: `{"path":"$HOME/$WORD"}`, effect: readSecret},
	"positional":    {method: "fs/readFile", params: `["$OUT/keys/key-$WORD"]`, effect: readSecret, offForm: true},
	"raw":           {method: "fs/readFile", params: `{"$serde_json::private::RawValue":"{\"path\":\"$OUT/keys/key-$WORD\"}"}`, effect: readSecret, offForm: true},
	"duplicate":     {method: "fs/readFile", params: `{"path":"$CWD/.git/HEAD","path":"$OUT/keys/key-$WORD"}`, effect: readSecret, offForm: true},
	"metadata":      {method: "fs/getMetadata", params: `{"path":"$OUT/keys/key-$WORD"}`, effect: gotResult},
	"metadata link": {method: "fs/getMetadata", params: `{"path":"$CWD/link-$WORD/keys/key-$WORD"}`, effect: gotResult},
	"folder":        {method: "fs/readDirectory", params: `{"path":"$OUT/keys"}`, effect: clientLearnsName},
	"folder link":   {method: "fs/readDirectory", params: `{"path":"$CWD/link-$WORD/keys"}`, effect: clientLearnsName},
	"watch":         {method: "fs/watch", params: `{"path":"$OUT/keys","watchId":"$WORD"}`, effect: gotResult},
	"watch link":    {method: "fs/watch", params: `{"path":"$CWD/link-$WORD/keys","watchId":"$WORD"}`, effect: gotResult},
	"search":        {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$OUT/keys"]}`, effect: clientLearnsName},
	"search link":   {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD/link-$WORD/keys"]}`, effect: clientLearnsName},
	"search up":     {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD/.."]}`, effect: clientLearnsName},
	"search later": {
		method: "fuzzyFileSearch/sessionStart", params: `{"sessionId":"$WORD","roots":["$OUT/keys"]}`,
		then: []request{{"fuzzyFileSearch/sessionUpdate", `{"sessionId":"$WORD","query":"key-$WORD"}`}}, effect: clientLearnsName,
	},
	// Codex follows links when it searches: a search can name files behind the user's links, but
	// not read them.
	"search all": {method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD"]}`, effect: clientLearnsName, open: true},
	// Of several roots, those inside the workspace remain.
	"search two": {prepare: unlink, method: "fuzzyFileSearch", params: `{"query":"key-$WORD","roots":["$CWD","$OUT/keys"]}`, effect: clientLearnsName, rewritten: true},
}

// unlink deletes the link: Codex follows links when it searches.
func unlink(s *attackRun) {
	if err := os.Remove(filepath.Join(s.workspace, "link-"+s.word)); err != nil {
		s.t.Fatal(err)
	}
}

// secretText returns the content of the file key-$WORD.
func (s *attackRun) secretText() string { return victim + s.word }
