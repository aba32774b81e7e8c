package rules_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

func denies(s *rules.Set, words []string) bool {
	return s.Argv(words, rules.Sandboxed, dirs).Decision == rules.Deny
}

// isOneOption reports whether a spelling of an option means no other one as well.
func isOneOption(o rules.OptionNames) bool {
	return o.Parts == 1 && !slices.Contains(o.Names, "-?") && !slices.Contains(o.Names, "--signal")
}

// A rule matches each spelling of the options that it names: synonyms, bundles, abbreviations, another order, between
// other options and operands.
func TestEachSpellingOfOptionsMatches(t *testing.T) {
	table := rules.OptionTable()
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SampledFrom(table).Filter(func(row rules.OptionsOf) bool { return slices.ContainsFunc(row.Options, isOneOption) }).Draw(t, "row")
		single := slices.DeleteFunc(slices.Clone(row.Options), func(o rules.OptionNames) bool { return !isOneOption(o) })
		options := rapid.SliceOfNDistinct(rapid.SampledFrom(single), 1, min(3, len(single)), func(o rules.OptionNames) string { return o.Names[0] }).Draw(t, "options")
		var demanded []string
		for _, o := range options {
			demanded = append(demanded, drawSpelling(t, row, o, false)...)
		}
		rule := strings.Join(append(slices.Clone(row.Words), append(demanded, "**")...), " ")
		s := compile(t, []config.Rule{{Command: rule, Decision: "deny"}})

		var spelled [][]string
		letters := ""
		for _, o := range rapid.Permutation(options).Draw(t, "order") {
			words := drawSpelling(t, row, o, true)
			if one := words[0]; len(words) == 1 && len(one) == 2 && o.Value == "" && !row.Exact && !row.Keys && rapid.Bool().Draw(t, "bundle") {
				letters += one[1:]
				continue
			}
			spelled = append(spelled, words)
		}
		if letters != "" {
			spelled = append(spelled, []string{"-" + letters})
		}
		command := slices.Clone(row.Words)
		at := len(spelled)
		if !row.Stopped {
			at = rapid.IntRange(0, len(spelled)).Draw(t, "operand before")
		}
		for i, words := range append(spelled, nil) {
			if i == at {
				command = append(command, "operand")
			}
			command = append(command, words...)
		}
		if !denies(s, command) {
			t.Fatalf("%q does not match %q", rule, command)
		}
	})
}

// drawSpelling returns the words of an option; if varied, also abbreviated and with another form of its value.
func drawSpelling(t *rapid.T, row rules.OptionsOf, o rules.OptionNames, varied bool) []string {
	name := rapid.SampledFrom(o.Names).Draw(t, "name")
	if row.Keys {
		return []string{name + "=v"}
	}
	long := strings.HasPrefix(name, "--") || row.Exact || len(name) > 2
	if varied && row.Abbreviates && strings.HasPrefix(name, "--") && rapid.Bool().Draw(t, "abbreviate") {
		for end := 3; end < len(name); end++ {
			if only(row, o, name[:end]) {
				name = name[:end]
				break
			}
		}
	}
	joined := name + "v"
	if long {
		joined = name + "=v"
	}
	switch {
	case o.Value == "=" && rapid.Bool().Draw(t, "attached"):
		return []string{joined}
	case o.Value == "=":
		return []string{name, "v"}
	case o.Value == "=?" && varied && rapid.Bool().Draw(t, "attached"):
		return []string{joined}
	}
	return []string{name}
}

// only reports whether a text is the beginning of names of one option alone.
func only(row rules.OptionsOf, option rules.OptionNames, text string) bool {
	for _, o := range row.Options {
		for _, name := range o.Names {
			if strings.HasPrefix(name, text) && o.Names[0] != option.Names[0] {
				return false
			}
		}
	}
	return true
}

// drawOptionWords returns words of rules and commands about options.
func drawOptionWords(t *rapid.T, more ...string) []string {
	head := rapid.SampledFrom([]string{"rm", "git push", "git clean", "git", "git -C x branch", "curl", "tar", "dd", "kill", "docker run", "npm", "ssh", "kubectl -n p delete", "terraform apply", "find", "other", "/bin/rm"}).Draw(t, "head")
	words := strings.Fields(head)
	pool := append([]string{"-r", "-f", "-rf", "-fr", "-R", "--force", "--forc", "--force-with-lease", "-d", "-x", "-9", "-KILL", "-o", "-ofile", "--output", "--output=x", "-i.bak", "--", "a", "b",
		"xf", "of=x", "if=a", "-g", "-p", "22", "-rz", "-", "--privileged", "-D", "-auto-approve", "push", "-delete"}, more...)
	return append(words, rapid.SliceOfN(rapid.SampledFrom(pool), 0, 6).Draw(t, "words")...)
}

// Rules match at least what they match as they are written, and allow rules nothing else.
func TestOptionsOnlyAddMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []config.Rule
		for range rapid.IntRange(1, 3).Draw(t, "rules") {
			words := drawOptionWords(t, "**", "*", "**", "--force*", "--output=*", "-o*", "{-f,--force}", "of=*", "-*f*")
			list = append(list, config.Rule{Command: strings.Join(words, " "), Decision: rapid.SampledFrom([]string{"deny", "ask", "allow"}).Draw(t, "decision")})
		}
		line := strings.Join(drawOptionWords(t, "$x", `"$x"`, "-$x", `-o"$x"`, "--output=$x", "*.o", "{-f,-r}", "$x/a"), " ")
		now := compile(t, list)
		before := rules.AsWritten(now)
		for _, e := range escalations {
			a, b := now.Shell(line, "bash", e, dirs), before.Shell(line, "bash", e, dirs)
			if looseness(a.Decision) > looseness(b.Decision) {
				t.Fatalf("%q: %s, and as written %s", line, printed(a), printed(b))
			}
			if a.Decision == rules.Allow && b.Decision != rules.Allow {
				t.Fatalf("%q is allowed by %s", line, printed(a))
			}
		}
	})
}

func TestOptionsByMeaning(t *testing.T) {
	for rule, lines := range map[string]struct{ yes, no []string }{
		"rm -rf **": {
			[]string{"rm -fr x", "rm -r -f x", "rm --recursive --force x", "rm -rfv x", "rm x -rf", "rm -f -R x", "rm --recurs --f x", "/bin/rm -Rf x", "rm -f -- -r x -r; rm -fr y", "rm x $y", "rm -r$x y", "rm -f *", "grm -rf x; rm -rvf x", "sudo rm -fr x", "find . -exec rm -fr {} +"},
			[]string{"rm -r x", "rm x", "rm -f -- -r", "rm -f x/*.o", `rm -f "$HOME/x"`, "rm --rec x", "rmdir -rf x", "rm -f ~/x"},
		},
		"git push --force **": {
			[]string{"git push -f", "git push origin main -f", "git push -uf origin main", "git -C x push -f", "git -c a=b push origin --force", "git push -o ci.skip -f", "git --weird x push -f", "git push -ff", "git -p push -f", `git "$x" origin -f`, `git p"$x" origin -f`},
			[]string{"git push --force-with-lease", "git push --force-w", "git push", "git push -o --force", "git push -o -f", "git push -- -f", "git pull -f", "git push origin f", `git s"$x" -f`, "git -c push -f", "git push --no-verify"},
		},
		"git push ** --force* **":                {[]string{"git push -f", "git push --force-with-lease", "git push x -fu", "git push --force-with-lease=main"}, []string{"git push -u x"}},
		"git push ** {-f,--force} **":            {[]string{"git push -fu x", "git push x --force"}, []string{"git push --force-with-lease x"}},
		"git ** --force **":                      {[]string{"git push -f x", "git clean -df", "git -C x branch -f a b", "git branch -D x"}, []string{"git commit -F msg", "git clean -n"}},
		"git ** --paginate **":                   {[]string{"git -p log"}, []string{"git frob -p"}},
		"docker run x -v **":                     {[]string{"docker run x -v y"}, []string{"docker run -v x", "docker run -v y x"}},
		"git clean -fdx":                         {[]string{"git clean -xdf", "git clean -f -d -x", "git clean -x --force -d", "git clean -qxfd", "git clean -fd $x"}, []string{"git clean -fd", `git clean -fd "$x"`, "git clean -fdX", "git clean -fdx y"}},
		"git clean -fdx **":                      {[]string{"git clean -e keep -xdf y"}, []string{"git clean -e -x -fd"}},
		"git branch -D **":                       {[]string{"git branch -d -f x", "git branch --delete --force x", "git branch x -D"}, []string{"git branch -d x"}},
		"git branch -d **":                       {[]string{"git branch -D x", "git branch --del x"}, []string{"git branch -f x"}},
		"git commit -n **":                       {[]string{"git commit --no-verify -m x", "git commit -anm x", "git commit --no-ver"}, []string{"git commit -mn", "git commit -m -n"}},
		"git -C * push **":                       {[]string{"git -p -C x push"}, []string{"git push"}},
		"curl -o **":                             {[]string{"curl URL --output x", "curl --output=x URL", "curl -sox URL", "curl -sLo x URL"}, []string{"curl -O URL", "curl --output-dir x URL", "curl -H -o URL"}},
		"curl -o /etc/* **":                      {[]string{"curl URL --output=/etc/x", "curl -o/etc/x URL", "curl -so /etc/x URL", "curl -o /etc/$x URL", `curl -o "$x" URL`}, []string{"curl -o /tmp/x URL", `curl -o "/tmp/$x" URL`}},
		"curl --output=/etc/* **":                {[]string{"curl -o /etc/x URL"}, []string{"curl -o x URL"}},
		"curl ** -o* **":                         {[]string{"curl --output x URL"}, []string{"curl -O URL"}},
		"curl -X POST **":                        {[]string{"curl -XPOST URL", "curl URL --request POST", "curl --request=POST URL"}, []string{"curl -X GET URL", "curl URL POST"}},
		"sed -i **":                              {[]string{"sed --in-place s/a/b/ f", "sed --in-place=.bak s/a/b/ f", "sed -i.bak s/a/b/ f", "sed -ni p f", "sed s/a/b/ f -i", "sed -e s/a/b/ -i f"}, []string{"sed -e -i f", "sed -n p f"}},
		"chmod -R 777 **":                        {[]string{"chmod --recursive 777 x", "chmod -vR 777 x", "chmod 777 -R x"}, []string{"chmod 777 x", "chmod -R 755 x"}},
		"cp -r **":                               {[]string{"cp -R a b", "cp a b --recursive"}, []string{"cp -a a b", "cp -t -r a"}},
		"docker run --privileged **":             {[]string{"docker run -it --privileged x", "docker run --name y --privileged=true x", "podman ps; docker run -e A=1 --privileged x"}, []string{"docker run x --privileged", "docker run --name --privileged x", "docker run --privileged=false x", "docker exec --privileged x"}},
		"docker run -v /:* **":                   {[]string{"docker run --volume=/:/host x", "docker run -it --volume /:/host x", "docker run -v/:/host x"}, []string{"docker run -v /srv:/srv x"}},
		"{docker,podman} run ** --privileged **": {[]string{"podman run -it --privileged=true x"}, []string{"podman run -it x"}},
		"docker compose down -v":                 {[]string{"docker compose -f x down --volumes", "docker compose down -t 3 -v"}, []string{"docker compose down"}},
		"npm i -g **":                            {[]string{"npm i --global x", "npm -g i x", "npm i x -fg", "npm i --location user --glob x"}, []string{"npm i x", "npm install -g x"}},
		"kill -9 **":                             {[]string{"kill -KILL 1", "kill -SIGKILL 1", "kill -s KILL 1", "kill --signal=9 1", "kill -n 9 1", "kill -s sigkill 1"}, []string{"kill 1", "kill -15 1", "kill 9", "kill -TERM -9"}},
		"kill -9 -1":                             {[]string{"kill -KILL -1", "kill -s KILL -- -1"}, []string{"kill -9 1", "kill -9 -2"}},
		"pkill -f **":                            {[]string{"pkill -9f x", "pkill --full x", "pkill x -f", "pkill -KILL -f x"}, []string{"pkill -9 x"}},
		"dd of=/dev/* **":                        {[]string{"dd if=x of=/dev/sda", "dd bs=1M if=x of=/dev/sda count=1", "dd if=x of=$y", "dd if=x of=/dev/$y", "dd if=x $y"}, []string{"dd if=/dev/sda of=x"}},
		"tar -x **":                              {[]string{"tar xf a", "tar -zxf a", "tar --extract -f a", "tar --get -f a", "tar zxvf a"}, []string{"tar cf x", "tar -cf -x a", "tar tf a"}},
		"tar xf a.tar **":                        {[]string{"tar -xf a.tar", "tar fx a.tar", "tar -x --file=a.tar"}, []string{"tar xf b.tar"}},
		"ssh -o StrictHostKeyChecking=no **":     {[]string{"ssh -oStrictHostKeyChecking=no h", "ssh h -o StrictHostKeyChecking=no", "ssh -p 22 -o StrictHostKeyChecking=no h ls"}, []string{"ssh h ls -o StrictHostKeyChecking=no"}},
		"kubectl delete -n prod **":              {[]string{"kubectl delete pod x --namespace=prod", "kubectl -n prod delete pod x", "kubectl delete -nprod pod x"}, []string{"kubectl delete -n test pod x", "kubectl get -n prod"}},
		"kubectl -n prod delete **":              {[]string{"kubectl delete pod x --namespace prod"}, []string{"kubectl delete pod x"}},
		"terraform apply -auto-approve **":       {[]string{"terraform apply --auto-approve", "terraform -chdir=x apply -var a=b -auto-approve", "terraform apply -auto-approve=true plan"}, []string{"terraform apply", "terraform apply -var -auto-approve"}},
		"apt-get install -y **":                  {[]string{"apt-get install x --yes", "apt-get -qy install x", "apt-get --assume-yes install x"}, []string{"apt-get install x"}},
		"find ** -delete **":                     {[]string{"find . -name x -delete"}, []string{"find . -print"}},
		"find . -delete":                         {[]string{"find . -name x -delete", "find -delete ."}, []string{"find . -print"}},
		"make -f * all":                          {[]string{"make all --makefile=x", "make -kf x all"}, []string{"make all"}},
		"psql -c **":                             {[]string{"psql --command=x", "psql -qc x", "psql db --comm x"}, []string{"psql -f x"}},
		"crontab -r":                             {[]string{"crontab -ir", "crontab -u x -r", "crontab -ux -r"}, []string{"crontab -l", "crontab -u -r"}},
		"rsync --delete **":                      {[]string{"rsync -a a b --delete"}, []string{"rsync -a a b", "rsync --delete-after a b", "rsync -e --delete a b"}},
		"wget -O **":                             {[]string{"wget -qO x URL", "wget URL --output-document=x"}, []string{"wget -nc URL", "wget -o log URL"}},
		"other -rf **":                           {[]string{"other -rf x"}, []string{"other -fr x", "other x -rf"}},
		"rm -rf --odd **":                        {[]string{"rm -rf --odd x", "rm --odd -fr x"}, []string{"rm -fr x"}},
		"A=1 rm -rf **":                          {[]string{"A=1 rm -fr x"}, []string{"rm -fr x", "A=2 rm -fr x"}},
		"rm -rf -- -x":                           {[]string{"rm -fr -- -x"}, []string{"rm -fr x"}},
	} {
		s := compile(t, []config.Rule{{Command: rule, Decision: "deny"}})
		for _, line := range lines.yes {
			if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != rules.Deny {
				t.Errorf("%s does not match %s", rule, line)
			}
		}
		for _, line := range lines.no {
			if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != rules.None {
				t.Errorf("%s matches %s", rule, line)
			}
		}
	}
}

func TestAllowRulesKeepOptionsAsWritten(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "rm -rf **", Decision: "allow"}})
	for line, want := range map[string]rules.Decision{"rm -rf x": rules.Allow, "rm -fr x": rules.None, "rm -r -f x": rules.None, "rm x -rf": rules.None} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// A match by meaning hides no later rule, like every match of a lenient reading.
func TestMatchByMeaningHidesNoRule(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "rm -rf **", Decision: "ask"}, {Command: "rm **", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{"rm -rf x": rules.Ask, "rm -fr x": rules.Deny} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

func TestLiteralOptions(t *testing.T) {
	for command, want := range map[string]string{
		"frob -rf **": "frob: -rf", "frob --out=x **": "frob: --out=x", "frob --force **": "", "frob -*f* **": "frob: -*f*", "frob **": "", "rm -rf **": "", "rm -rj **": "rm: -rj",
		"git push --forced **": "git push: --forced", "git frob -f **": "git frob: -f", "git ** -f **": "", "kill -9 -1": "", "tar xf **": "", "/opt/frob -x": "frob: -x", "rm -- -j": "",
		"kubectl frob -n x": "",
	} {
		got := ""
		for _, one := range compile(t, []config.Rule{{Command: command, Decision: "ask"}}).LiteralOptions() {
			got += one.Program + ": " + strings.Join(one.Options, " ")
		}
		if got != want {
			t.Errorf("%s: %q, not %q", command, got, want)
		}
		if all := compile(t, []config.Rule{{Command: command, Decision: "allow"}}).LiteralOptions(); len(all) > 0 {
			t.Errorf("an allow rule for %s: %v", command, all)
		}
	}
}
