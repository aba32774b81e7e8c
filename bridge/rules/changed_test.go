package rules_test

import (
	"fmt"
	"slices"
	"strings"
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
		"cp -rt d a":                      {whole("/w/a"), whole("/w/d")},
		"cp -a a b c":                     {whole("/w/c")},
		"cp --target-directory=d/$n a":    {part("/w/--target-directory=d/"), whole("/w/a"), part("/w/d/*"), part("/w/d/")},
		"cp -td/$n a":                     {part("/w/-td/"), whole("/w/a"), part("/w/d/*"), part("/w/d/")},
		"cp -rtd/$n a":                    {part("/w/-rtd/"), whole("/w/a"), part("/w/td/*"), part("/w/td/"), part("/w/d/*"), part("/w/d/")},
		"dd of=.h/$n":                     {part("/w/of=.h/"), part("/w/.h/*"), part("/w/.h/")},
		"dd of=a/{b,c}":                   {whole("/w/of=a/b"), whole("/w/of=a/c"), whole("/w/a/b"), whole("/w/a/c")},
		"cp a b -S .old":                  {whole("/w/a"), whole("/w/b"), whole("/w/.old")},
		"cp --targ d a":                   {whole("/w/d"), whole("/w/a")},
		"install a b -m 644":              {whole("/w/a"), whole("/w/b"), whole("/w/644")},
		"cp -- a b":                       {whole("/w/b")},
		"tee -i/d a":                      {whole("/w/a")},
		"sed --in-place=d/x s/a/b/ c":     {whole("/w/c"), whole("/w/d/x")},
		"touch {a,b*}":                    {whole("/w/a"), part("/w/b*"), part("/w/b")},
		"install -D a b":                  {whole("/w/b")},
		"sed -i'd/*' s/a/b/ c":            {whole("/w/c"), part("/w/d/*"), part("/w/d/")},
		"sed -i.old s/a/b/ c":             {whole("/w/c")},
		"touch a/{b,c}/d":                 {whole("/w/a/b/d"), whole("/w/a/c/d")},
		"touch {a,b}{c,d}":                {whole("/w/ac"), whole("/w/ad"), whole("/w/bc"), whole("/w/bd")},
		"touch a{b,{c,d}e}":               {whole("/w/ab"), whole("/w/ace"), whole("/w/ade")},
		"touch a{b,}":                     {whole("/w/ab"), whole("/w/a")},
		"touch a{b}c '{a,b}' {a":          {whole("/w/a{b}c"), whole("/w/{a,b}"), whole("/w/{a")},
		"touch a?b":                       {part("/w/a*b"), part("/w/ab"), part("/w/a"), part("*b")},
		"touch {a,b?}":                    {whole("/w/a"), part("/w/b*"), part("/w/b")},
		"cp":                              nil,
		"mv a b":                          {whole("/w/a"), whole("/w/b")},
		"ln a b":                          {whole("/w/a"), whole("/w/b")},
		"ln -s a b":                       {whole("/w/a"), whole("/w/b"), whole("/w/*/a"), whole("/w/*/b")},
		"ln -f --symbolic a /b":           {whole("/w/a"), whole("/b"), whole("/w/*/a")},
		"cp -t d a":                       {whole("/w/a"), whole("/w/d")},
		"install -Dtd a":                  {whole("/w/a"), whole("/w/d")},
		"cp a -t":                         {whole("/w/a")},
		"rsync -t a b":                    {whole("/w/b")},
		"sed s/a/b/ c":                    nil,
		"sed -i s/a/b/ c":                 {whole("/w/c")},
		"sed -Ei s/a/b/ c":                {whole("/w/c")},
		"sed -i s/a/b/ c d":               {whole("/w/c"), whole("/w/d")},
		"sed s/a/b/ -i c d":               {whole("/w/c"), whole("/w/d")},
		"sed -i -e s/a/b/ c d":            {whole("/w/c"), whole("/w/d")},
		"sed c -i -e s d":                 {whole("/w/c"), whole("/w/s"), whole("/w/d")},
		"sed -i -nes/a=b/c/ -f s d":       {whole("/w/d")},
		"sed -i --expr=s/a/b/ --file s d": {whole("/w/d")},
		"sed -i -- s d":                   {whole("/w/d")},
		"sed -i -ie s d":                  {whole("/w/d")},
		"sed -i -l 5 s d":                 {whole("/w/5"), whole("/w/s"), whole("/w/d")},
		"sed -i s*/ d":                    {part("/w/s*/"), part("/w/s/"), part("/w/s"), part("*/"), whole("/w/d")},
		`sed -i "s/$a/b/" d`:              {whole("/w/d")},
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
		"pushd a; touch b":                {part("/w/b"), part("/w/a/b")},
		"chdir a; touch b":                {part("/w/b"), part("/w/a/b")},
		"popd; touch b":                   {part("/w/b")},
		"cd; touch b":                     {part("/w/b")},
		"find . -execdir touch b ;":       {part("/w/b"), part("/w/*/b")},
		"env -C a touch b":                {whole("/w/b"), whole("/w/a/b")},
		"env -iCa touch b":                {whole("/w/b"), whole("/w/a/b")},
		"env --chd=a touch b":             {whole("/w/b"), whole("/w/a/b"), whole("/w/b"), whole("/w/a/b")}, // read twice
		"touch b; env -C":                 {whole("/w/b")},
		"touch b; strace --chdir":         {whole("/w/b")},
		"env --chdir a touch b":           {whole("/w/b"), whole("/w/a/b")},
		"nice env -C $a touch b":          {whole("/w/b"), whole("/w/*/b")},
		"env $a touch b":                  {whole("/w/b"), whole("/w/*/b")},
		"sudo -D a touch b":               {whole("/w/b"), whole("/w/a/b")},
		"fd x --base-directory a -x rm b": {whole("/w/b"), whole("/w/a/b")},
		"CDPATH=a; cd b; touch c":         {part("/w/c"), part("*/b/c"), part("/w/b/c")},
		`read "CD"PATH; cd b; touch c`:    {part("/w/c"), part("*/b/c"), part("/w/b/c")},
		"find . -exec touch b ;":          {whole("/w/b")},
		"touch '' b":                      {whole("/w/b")},
		"touch a=b":                       {whole("/w/a=b")},
		"sed -n p c":                      nil,
		"sed --quiet p c":                 nil,
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
	for line, want := range map[string]files{
		"touch a":             {part("a")},
		"cd a; cd b; touch c": {part("c"), part("a/c"), part("a/b/c"), part("b/c")},
		"cd /a; touch c":      {part("c"), part("/a/c")},
	} {
		if diff := cmp.Diff(want, files(rules.ChangedFiles(line, "bash", rules.Dirs{}))); diff != "" {
			t.Errorf("%s in a folder that is not known (-want +got)\n%s", line, diff)
		}
	}
}

// The order of up to eight changes of folder counts. Of more each folder is a part of a path.
func TestChangedFilesBehindManyChangesOfFolder(t *testing.T) {
	for n, want := range map[int]string{8: "/w/d0/d1/d2/d3/d4/d5/d6/d7/c", 9: "*/d8/c"} {
		line := ""
		for i := range n {
			line += fmt.Sprintf("cd d%d; ", i)
		}
		files := rules.ChangedFiles(line+"touch c", "bash", dirsOfW)
		if !slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return f.Path == want }) {
			t.Errorf("%d: %v", n, files)
		}
		if slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return strings.HasPrefix(f.Path, "*") }) != (n > 8) {
			t.Errorf("%d: %v", n, files)
		}
	}
}

var dirsOfW = rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"}

// Of a line that is not wholly read every word may be a file that it changes.
func TestChangedFilesOfLinesThatAreNotRead(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		line    string
		partial bool
	}{
		"64 KiB":                 {"touch a/b; : " + strings.Repeat("x", 64<<10-13), false},
		"one more":               {"touch a/b; : " + strings.Repeat("x", 64<<10-12), true},
		"not to be parsed":       {"touch a/b\n(", true},
		"control characters":     {"touch a/b \x01", true},
		"4096 words":             {"touch a/b" + strings.Repeat(" x", 4094), false},
		"4097 words":             {"touch a/b" + strings.Repeat(" x", 4095), true},
		"2000 commands":          {strings.Repeat("ls;", 1999) + "touch a/b", false},
		"2001 commands":          {strings.Repeat("ls;", 2000) + "touch a/b", true},
		"4096 files":             {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 95) + " a/b", false},
		"4097 files":             {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 96) + " a/b", true},
		"256 redirections":       {strings.Repeat("ls > x;", 255) + "ls > a/b", false},
		"257 redirections":       {strings.Repeat("ls > x;", 256) + "ls > a/b", true},
		"256 changes of folder":  {many(256, "cd d%d;") + "touch a/b", false},
		"257 changes of folder":  {many(257, "cd d%d;") + "touch a/b", true},
		"words of a wrapper":     {"strace" + strings.Repeat(" x", 126) + " a/b", false},
		"too many of them":       {"strace" + strings.Repeat(" x", 127) + " a/b", true},
		"texts in eight texts":   {strings.Repeat("eval ", 8) + "touch a/b", false},
		"and more":               {strings.Repeat("eval ", 9) + "touch a/b", true},
		"256 alternatives":       {"touch a/b {" + many(255, "%d,") + "}", false},
		"257 alternatives":       {"touch a/b {" + many(256, "%d,") + "}", true},
		"in lists":               {"touch a/b " + strings.Repeat("{x,y}", 8), false},
		"257 in lists":           {"touch a/b {" + strings.Repeat("{x,y}", 8) + ",z}", true},
		"4096 alternatives":      {"touch" + strings.Repeat(" {x,y}{x,y}{x,y}{x,y}{x,y}{x,y}{x,y}", 32) + "; : > a/b", true},
		"fewer":                  {"touch" + strings.Repeat(" {x,y}{x,y}{x,y}{x,y}{x,y}{x,y}{x,y}", 31) + "; : > a/b", false},
		"1000 braces":            {"touch a/b " + strings.Repeat("{", 1000), false},
		"3000 braces":            {"touch a/b " + strings.Repeat("{", 3000), true},
		"3000 ranges":            {"touch a/b " + strings.Repeat("{1..3}", 3000), true},
		"quotes":                 {"touch 'a'/\"b\"\n(", true},
		"a backslash":            {"touch \\a/\\\nb\n(", true},
		"a line that env splits": {"env -S 'touch a/b'", true},
		"another language":       {"fish -c 'touch a/b'", true},
		"an evaluator":           {"emulate sh -c 'touch a/b'", true},
		"an alias of git":        {"git -c alias.x='!touch a/b' x", true},
		"what zsh alone can run": {"touch a/b; echo ${(f)x}", true},
	} {
		files := rules.ChangedFiles(test.line, "bash", dirsOfW)
		if got := slices.Contains(files, rules.ChangedFile{Path: "*/a/b", Computed: true}); got != test.partial {
			t.Errorf("%s: %t", name, got)
		}
	}
	if files := rules.ChangedFiles("touch a/b; echo ${(f)x}", "zsh", dirsOfW); !slices.Equal(files, []rules.ChangedFile{{Path: "/w/a/b", Whole: true}}) {
		t.Errorf("for zsh: %v", files)
	}
}

// A word whose lists expand to too many words counts as a glob, with an asterisk in place of the lists.
func TestChangedFilesOfTooManyAlternatives(t *testing.T) {
	many := "{hub," + strings.Repeat("x,", 256) + "}"
	full := "touch" + strings.Repeat(" {x,y}{x,y}{x,y}{x,y}{x,y}{x,y}{x,y}{x,y}", 16)
	for line, want := range map[string]string{
		"touch a/.git" + many + "/b":            "/w/a/.git*/b",
		"touch a/.g{it,}" + many + "{/b,/}c":    "/w/a/.g*c",
		"touch }a/.git" + many + "'}'/b":        "/w/}a/.git*}/b",
		"touch a/.git{hub,x" + many + "/b":      "/w/a/.git*/b",
		"cd a/.git" + many + "; touch b":        "/w/a/.git*/b",
		full + " a/.git{hub,x}/b":               "/w/a/.git*/b",
		full + " a/.git?ub/b":                   "/w/a/.git*ub/b",
		full + " a/.github/b":                   "/w/a/.github/b",
		"touch a/.git" + many + "/b{{{ .github": "/w/.github",
	} {
		files := rules.ChangedFiles(line, "bash", dirsOfW)
		if !slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return f.Path == want }) {
			t.Errorf("%.80s: no %s, %d files", line, want, len(files))
		}
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
