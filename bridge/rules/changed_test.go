package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/rules"
)

// ChangedFiles returns the files of a line as far as the line spells them.
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
		"dd of=a/{b,c}":                   {whole("/w/a/b"), whole("/w/a/c")},
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
		"cd a; cd b; touch c; cd a":       {part("/w/c"), part("/w/a/c"), part("/w/a/b/c"), part("/w/a/b/a/c"), part("/w/b/c"), part("/w/b/a/c")},
		"cd /a; touch c":                  {part("/w/c"), part("/a/c")},
		"cd a; touch c; cd ..":            {part("/w/c"), part("/w/a/c"), part("/w/a/../c"), part("/c"), part("/w/../c")},
		"(cd /a; cd b); touch c":          {part("/w/c"), part("/a/c"), part("/a/b/c"), part("/w/b/c")},
		`cd "$PWD/a"; touch c`:            {part("/w/c"), part("/w/*/a/c")},
		"find . -exec touch {}/a ;":       {part("/a"), part("*/a")},
		"xargs -I% touch a/%b":            {part("/w/a/b"), part("/w/a/"), part("*b")},
		"pushd a; touch /b":               {whole("/b")},
		"pushd a; touch b":                {part("/w/b"), part("/w/a/b")},
		"chdir a; touch b":                {part("/w/b"), part("/w/a/b")},
		"popd; touch b":                   {part("/w/b")},
		"cd; touch b":                     {part("/w/b"), part("/home/ada/b")},
		"cd ~/a; touch b":                 {part("/w/b"), part("/home/ada/a/b")},
		"cd a; cd a; touch b":             {part("/w/b"), part("/w/a/b"), part("/w/a/a/b")},
		"cd a a; touch b":                 {part("/w/b"), part("/w/a/b")}, // a shell enters one of them
		"cd a* a*; touch b":               {part("/w/b"), part("/w/a*/b"), part("/w/a*/a*/b")},
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
		got := changed(line, "bash", rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"})
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
		if diff := cmp.Diff(want, files(changed(line, "bash", rules.Dirs{}))); diff != "" {
			t.Errorf("%s in a folder that is not known (-want +got)\n%s", line, diff)
		}
	}
}

// The order of up to 16 changes of folder counts. With more changes, each folder is a part of a
// path, and a file with a relative name may be any file.
func TestChangedFilesBehindManyChangesOfFolder(t *testing.T) {
	for n, want := range map[int]string{16: "/w/d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/d12/d13/d14/d15/c", 17: "*/d16/c"} {
		line := ""
		for i := range n {
			line += fmt.Sprintf("cd d%d; ", i)
		}
		files, anyFile := rules.ChangedFiles(line+"touch c", "bash", dirsOfW)
		if _, other := rules.ChangedFiles(line+"touch c*", "", dirsOfW); other != anyFile {
			t.Errorf("%d: any file, in a shell that is not known: %v", n, other)
		}
		if anyFile != (n > 16) {
			t.Errorf("%d: any file: %v", n, anyFile)
		}
		if _, anyFile := rules.ChangedFiles(line+"touch /c; ls > $x", "bash", dirsOfW); anyFile {
			t.Errorf("%d: any file, without a relative name", n)
		}
		if !slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return f.Path == want }) {
			t.Errorf("%d: %v", n, files)
		}
		if slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return strings.HasPrefix(f.Path, "*") }) != (n > 16) {
			t.Errorf("%d: %v", n, files)
		}
	}
}

// A line may be in the folder to which a link leads. Behind a link, ".." is a folder that the line
// does not spell.
func TestChangedFilesBehindLinks(t *testing.T) {
	links := dirsOfW
	links.Follow = func(path string) (string, error) {
		if path == "/w/proc" {
			return "", errors.New("the link leads each process elsewhere")
		}
		return strings.NewReplacer("/w/link/..", "/other", "/w/link", "/other/folder").Replace(path), nil
	}
	for line, want := range map[string][]string{
		"cd link; touch a":          {"/w/a", "/w/link/a", "/other/folder/a"},
		"cd link/..; touch a":       {"/w/a", "/other/a"},
		"cd link; cd sub; touch a":  {"/w/a", "/w/link/a", "/other/folder/a", "/w/link/sub/a", "/other/folder/sub/a", "/w/sub/a"},
		"cd proc; touch /a":         {"/a"},
		"env -C link touch a":       {"/w/a", "/w/link/a", "/other/folder/a"},
		"cd li*; touch a":           {"/w/a", "/w/li*/a"},
		"cd /link; touch a /link/b": {"/w/a", "/link/a", "/link/b"},
	} {
		var got []string
		for _, file := range changed(line, "bash", links) {
			got = append(got, file.Path)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", line, diff)
		}
	}
	for _, line := range []string{"cd proc; touch a", "cd proc; cd ..; touch a", "cd sub; cd ../proc/x; touch a"} {
		if _, anyFile := rules.ChangedFiles(line, "bash", links); anyFile != !strings.Contains(line, "proc/x") {
			t.Errorf("%s: any file: %v", line, anyFile)
		}
	}
}

// The paths of the files have 4 MiB at most, and the path of a folder 8,192 bytes.
func TestChangedFilesWithLongPaths(t *testing.T) {
	const folder = 8190
	dirs := rules.Dirs{Cwd: "/" + strings.Repeat("a", folder-1)} // a file in it has a path of 8,192 bytes
	for n, want := range map[int]bool{512: false, 513: true} {
		files, anyFile := rules.ChangedFiles("touch"+strings.Repeat(" x", n-1)+" y", "bash", dirs)
		last := slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return strings.HasSuffix(f.Path, "/y") })
		if anyFile != want || last == want {
			t.Errorf("%d files: any file %v, the last one %v", n, anyFile, last)
		}
	}
	for n, want := range map[int]bool{8192: false, 8193: true} {
		if _, anyFile := rules.ChangedFiles("cd "+strings.Repeat("a", n-len("/w/"))+"; touch x", "bash", dirsOfW); anyFile != want {
			t.Errorf("a folder of %d bytes: any file %v", n, anyFile)
		}
	}
}

var dirsOfW = rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"}

// changed returns ChangedFiles, or nil if the line is too long.
func changed(line, shell string, dirs rules.Dirs) []rules.ChangedFile {
	files, tooLong := rules.ChangedFiles(line, shell, dirs)
	if tooLong {
		return nil
	}
	return files
}

// If a line is not fully read, each word may be a file that it changes. If it is too long, or names
// too many files, it may change any file.
func TestChangedFilesOfLinesThatAreNotRead(t *testing.T) {
	const read, asWords, unread = "read", "as words", "too long"
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		line string
		want string
	}{
		"64 KiB":                 {"touch a/b; : " + strings.Repeat("x", 64<<10-13), read},
		"one more":               {"touch a/b; : " + strings.Repeat("x", 64<<10-12), unread},
		"not to be parsed":       {"touch a/b\n(", asWords},
		"control characters":     {"touch a/b \x01", asWords},
		"4096 words":             {"touch a/b" + strings.Repeat(" x", 4094), read},
		"4097 words":             {"touch a/b" + strings.Repeat(" x", 4095), unread},
		"2000 commands":          {strings.Repeat("ls;", 1999) + "touch a/b", read},
		"2001 commands":          {strings.Repeat("ls;", 2000) + "touch a/b", unread},
		"4096 files":             {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 95) + " a/b", read},
		"4097 files":             {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 96) + " a/b", unread},
		"256 redirections":       {strings.Repeat("ls > x;", 255) + "ls > a/b", read},
		"257 redirections":       {strings.Repeat("ls > x;", 256) + "ls > a/b", unread},
		"16 changes of folder":   {many(16, "cd d%d;") + "touch a/b", read},
		"17 changes of folder":   {many(17, "cd d%d;") + "touch a/b", unread},
		"an absolute path":       {many(17, "cd d%d;") + "touch /a/b", read},
		"256 changes of folder":  {many(256, "cd d%d;") + "touch /a/b", read},
		"257 changes of folder":  {many(257, "cd d%d;") + "touch /a/b", unread},
		"words of a wrapper":     {"strace" + strings.Repeat(" x", 126) + " a/b", read},
		"too many of them":       {"strace" + strings.Repeat(" x", 127) + " a/b", unread},
		"texts in eight texts":   {strings.Repeat("eval ", 8) + "touch a/b", read},
		"and more":               {strings.Repeat("eval ", 9) + "touch a/b", unread},
		"256 alternatives":       {"touch a/b {" + many(255, "%d,") + "}", read},
		"257 alternatives":       {"touch a/b {" + many(256, "%d,") + "}", unread},
		"in lists":               {"touch a/b " + strings.Repeat("{x,y}", 8), read},
		"257 in lists":           {"touch a/b {" + strings.Repeat("{x,y}", 8) + ",z}", unread},
		"4096 alternatives":      {"touch" + strings.Repeat(" {x,y}{x,y}{x,y}{x,y}{x,y}{x,y}{x,y}", 32) + "; : > a/b", unread},
		"fewer":                  {"touch" + strings.Repeat(" {x,y}{x,y}{x,y}{x,y}{x,y}{x,y}{x,y}", 31) + "; : > a/b", read},
		"lists in a redirection": {"touch a/b; : > " + strings.Repeat("{x,y}", 9), unread},
		"4096 readings":          {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 89) + " a/b x[yz]", read},
		"4097 readings":          {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 90) + " a/b x[yz]", unread},
		"more of the last":       {"touch" + strings.Repeat(" x", 4000) + ";touch" + strings.Repeat(" x", 91) + " a/b x[yz]", unread},
		"inputs of a device":     {strings.Repeat("a < b;", 200) + "tee /proc" + strings.Repeat("/0", 2000), unread},
		"texts of 256 KiB":       {strings.Repeat("eval ", 3) + "touch a/b " + strings.Repeat("x", 60<<10), read},
		"exactly 256 KiB":        {"touch a/b; eval" + strings.Repeat(" ", 9) + "eval eval eval ls " + strings.Repeat("x", 52412), read},
		"one more byte":          {"touch a/b; eval" + strings.Repeat(" ", 10) + "eval eval eval ls " + strings.Repeat("x", 52412), unread},
		"4096 words with a list": {"touch a/b; ls" + strings.Repeat(" x", 3839) + " {" + strings.Repeat("x,", 255) + "x}", read},
		"4097 words with a list": {"touch a/b; ls" + strings.Repeat(" x", 3840) + " {" + strings.Repeat("x,", 255) + "x}", unread},
		"a text behind 2000":     {"touch a/b;" + strings.Repeat("ls;", 1998) + "eval ''", read},
		"a text behind 2001":     {"touch a/b;" + strings.Repeat("ls;", 1999) + "eval ''", unread},
		"longer texts":           {strings.Repeat("eval ", 5) + "touch a/b " + strings.Repeat("x", 60<<10), unread},
		"lists in four texts":    {listsInTexts(4), read},
		"lists in five texts":    {listsInTexts(5), unread},
		"1000 braces":            {"touch a/b " + strings.Repeat("{", 1000), read},
		"3000 braces":            {"touch a/b " + strings.Repeat("{", 3000), unread},
		"3000 ranges":            {"touch a/b " + strings.Repeat("{1..3}", 3000), unread},
		"quotes":                 {"touch 'a'/\"b\"\n(", asWords},
		"a backslash":            {"touch \\a/\\\nb\n(", asWords},
		"a line that env splits": {"env -S 'touch a/b'", asWords},
		"another language":       {"fish -c 'touch a/b'", asWords},
		"an evaluator":           {"emulate sh -c 'touch a/b'", asWords},
		"an alias of git":        {"git -c alias.x='!touch a/b' x", asWords},
		"what zsh alone can run": {"touch a/b; echo ${(f)x}", asWords},
	} {
		files, tooLong := rules.ChangedFiles(test.line, "bash", dirsOfW)
		got := read
		switch words := slices.Contains(files, rules.ChangedFile{Path: "*/a/b", Computed: true}); {
		case tooLong:
			got = unread
		case words:
			got = asWords
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// listsInTexts returns a line whose list becomes eval with a text whose list becomes eval, n times.
func listsInTexts(n int) string {
	line := "touch a/b"
	for range n {
		line = "{eval,} " + strings.NewReplacer(`\`, `\\`, "{", `\{`, ",", `\,`, "}", `\}`).Replace(line)
	}
	return line
}

// A bracket expression may stand for any characters of a name, and for itself. A list in braces in
// place of a command may stand for the command and its words.
func TestChangedFilesOfBracketsAndLists(t *testing.T) {
	for line, want := range map[string][]string{
		"cd a/.[f-h]ithub && touch b":  {"/w/a/.*ithub/b", "/w/a/.*f-h*ithub/b"},
		"rm a/.githu[a-c]/b":           {"/w/a/.githu*/b"},
		"rm [.]github/b":               {"/w/*github/b"},
		": > a/{1..3}":                 {"/w/a/*"},
		": > {1..3}/b":                 {"/w/*/b"},
		"rm -rf a/.[!.]*":              {"/w/a/.**"},
		"touch a/.[[:alpha:]x]ithub/b": {"/w/a/.*ithub/b"},
		"touch a/.[{f-h,x}]ithub/b":    {"/w/a/.*ithub/b"},
		"touch a/.{[f-h],x}ithub/b":    {"/w/a/.*ithub/b", "/w/a/.xithub/b"},
		"touch a/.g[\"h-j\"]thub/b":    {"/w/a/.g*thub/b"},
		"touch a[b/.github/]c":         {"/w/a*b/.github/*c"},
		"touch \"a/.[f-h]\"":           {"/w/a/.[f-h]"},
		"touch a]b c[d":                {"/w/a]b", "/w/c[d"},
		"{touch,a/b}":                  {"/w/a/b"},
		"command {touch,a/b}":          {"/w/a/b"},
		"{command,touch,a/b}":          {"/w/a/b"},
		"{touch,a/{b,c}} d":            {"/w/a/b", "/w/a/c", "/w/d"},
		"{,touch} a/b":                 {"/w/a/b"},
		"eval {touch,a/b}":             {"/w/a/b"},
		"timeout {5,touch,a/b}":        {"/w/a/b"},
		"env {-C,a,touch,b}":           {"/w/a/b"},
		"/usr/bin/[t]ouch a/b":         {"/w/a/b"},
		"env -C a/.[f-h]ithub touch b": {"/w/a/.*ithub/b"},
		"touch a/{x},.github}/b":       {"/w/a/.github/b"},
		"touch a/{},.github}/b":        {"/w/a/.github/b"},
		"touch a/{}/../.github,}/b":    {"/w/a/}/../.github/b"},
		`touch a/$'.github/\q'`:        {"/w/a/.github/"},
		`touch a/$'\.github'/b`:        {"*github/b"},
		`touch a/$'.git\x68ub'/b`:      {"/w/a/.github/b"},
		"touch a/{x,.git$}1hub/b":      {"/w/a/.git*1hub/b"},
		"touch a/{/../.github/..}":     {"/w/a/{/../.github/..}"},
		"{touch,a/$x}":                 {"/w/a/*"},
		"[ -f a ]; touch b":            {"/w/b"},
	} {
		files := changed(line, "bash", rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"})
		for _, path := range want {
			if !slices.ContainsFunc(files, func(f rules.ChangedFile) bool { return f.Path == path }) {
				t.Errorf("%s: no %s in %v", line, path, files)
			}
		}
	}
}

// A path is computed if a part of it is known only when the line runs.
func TestChangedFilesComputed(t *testing.T) {
	for line, want := range map[string]bool{
		"touch a": false, "cd x && touch a": false, "touch /a ~/a": false, "cd $x && touch a": false,
		`touch "$x"/a`: true, `touch a/"$x"/b`: true, "touch $x/a": true, "touch a*": true, `touch "/a$x"`: true,
	} {
		files := changed(line, "bash", rules.Dirs{Workspace: "/w", Cwd: "/w", Home: "/home/ada"})
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
