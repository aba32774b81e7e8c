package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/rules"
)

// The files that a line changes are seen as far as it spells them.
func TestChangedFiles(t *testing.T) {
	whole := func(path string) rules.ChangedFile { return rules.ChangedFile{Path: path, Whole: true} }
	part := func(path string) rules.ChangedFile { return rules.ChangedFile{Path: path} }
	type files []rules.ChangedFile
	for line, want := range map[string]files{
		"echo x > a/b":                    {whole("/w/a/b")},
		"echo x >> 'a b'":                 {whole("/w/a b")},
		"exec 3<> a":                      {whole("/w/a")},
		"if true; then echo > a; fi 2> b": {whole("/w/b"), whole("/w/a")},
		"echo x > /tmp/y":                 {whole("/tmp/y")},
		"echo x > ~/y":                    {whole("/home/ada/y")},
		"echo x > ~/../y":                 {whole("/home/y")},
		"echo x > $d/a/b":                 {part("/a/b"), part("*/a/b")},
		"echo x > a/$d":                   {part("/w/a/")},
		"echo x > $d":                     nil,
		"echo x > /dev/null 2>&1":         nil,
		"cat < a":                         nil,
		"tee a b < c":                     {whole("/w/a"), whole("/w/b")},
		"/usr/bin/tee -a x":               {whole("/w/x")},
		"TEE a":                           {whole("/w/a")},
		"env X=1 tee a":                   {whole("/w/a")},
		"sudo -n rm -rf a":                {whole("/w/a")},
		"bash -c 'rm a; echo > b'":        {whole("/w/b"), whole("/w/a")},
		"cp a b c":                        {whole("/w/c")},
		"cp --target-directory=d a":       {whole("/w/a"), whole("/w/d")},
		"cp":                              nil,
		"mv a b":                          {whole("/w/a"), whole("/w/b")},
		"ln -s a b":                       {whole("/w/a"), whole("/w/b")},
		"sed s/a/b/ c":                    nil,
		"sed -i s/a/b/ c":                 {whole("/w/c")},
		"sed -Ei s/a/b/ c":                {whole("/w/c")},
		"sed --in-place=.bak s/a/b/ c":    {whole("/w/c"), whole("/w/.bak")},
		"dd if=a of=b bs=1":               {whole("/w/b")},
		"touch $d/a*/b":                   {part("/a/b"), part("*/a"), part("*/b")},
		`touch x"$d"/a/"$e"y`:             {part("/w/x/a/y"), part("/w/x"), part("*/a/"), part("*y")},
		"cd a && touch b":                 {part("/w/b"), part("/w/a/b")},
		"cd a; cd b; touch c; cd a":       {part("/w/c"), part("/w/a/c"), part("/w/a/b/c"), part("/w/b/c")},
		"cd /a; touch c":                  {part("/w/c"), part("/a/c")},
		"cd a; touch c; cd ..":            {part("/w/c"), part("/w/a/c"), part("/w/a/../c"), part("/w/../c")},
		"(cd /a; cd b); touch c":          {part("/w/c"), part("/a/c"), part("/a/b/c"), part("/w/b/c")},
		`cd "$PWD/a"; touch c`:            {part("/w/c"), part("/w/*/a/c")},
		"find . -exec touch {}/a ;":       {part("/a"), part("*/a")},
		"xargs -I% touch a/%b":            {part("/w/a/b"), part("/w/a/"), part("*b")},
		"pushd a; touch /b":               {whole("/b")},
		"cd $d; touch c":                  {part("/w/c"), part("/w/*/c")},
		"cat a; $x b; grep c d":           nil,
	} {
		got := rules.ChangedFiles(line, "bash", rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"})
		for i := range got {
			got[i].Computed = false // below
		}
		if diff := cmp.Diff(want, files(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", line, diff)
		}
	}
	if got := rules.ChangedFiles("touch a", "bash", rules.Dirs{}); len(got) != 1 || got[0] != part("a") {
		t.Errorf("in a folder that is not known: %v", got)
	}
}

// A path of which a part is only known when the line runs is computed.
func TestChangedFilesComputed(t *testing.T) {
	for line, want := range map[string]bool{
		"touch a": false, "cd x && touch a": false, "touch /a ~/a": false, "cd $x && touch a": false,
		`touch "$x"/a`: true, `touch a/"$x"/b`: true, "touch $x/a": true, "touch a*": true, `touch "/a$x"`: true,
	} {
		files := rules.ChangedFiles(line, "bash", rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"})
		if len(files) == 0 {
			t.Errorf("%s: no files", line)
		}
		for _, file := range files {
			if file.Computed != want {
				t.Errorf("%s: %+v", line, file)
			}
		}
	}
}
