// Command bridge-mutate tells how much the tests of the packages that enforce the policy notice.
// gremlins lists the mutants, single changed tokens; for each the tests are run, and one that no
// test notices has survived. It ends with 1 when more than -max percent of the mutants survive
// that are not listed as equivalent.
//
// gremlins's own runner is not used. It counts what does not compile as killed, never tries the
// conditions of cases, which the coverage that it goes by leaves out, and runs the tests of one
// package only (gremlins 0.6.0, go 1.26).
//
// Results are kept in -results, and a run that is started again goes on where it ended, unless
// the package has changed.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// gremlinsProgram is what lists the mutants. It is installed for each run: the module has no need of
// the twenty others that it is made of.
const gremlinsProgram = "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bridge-mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	root, results, equivalents string
	workers, sample            int
	max                        float64
	survivors                  bool
	depth                      string
	files                      *regexp.Regexp // nil: all
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("bridge-mutate", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", ".", "the module")
	flags.StringVar(&o.results, "results", ".tools/mutate", "where results are kept")
	flags.StringVar(&o.equivalents, "equivalents", "cmd/bridge-mutate/equivalent.txt", "the list of mutants that make no difference")
	flags.IntVar(&o.workers, "workers", 2, "how many mutants are tried at a time")
	flags.IntVar(&o.sample, "sample", 0, "try so many of a package, chosen at random, the same each time; 0 all")
	flags.BoolVar(&o.survivors, "survivors", false, "try only the mutants that survived before, whatever has changed in the tests since")
	flags.Float64Var(&o.max, "max", 3, "how many percent may survive")
	flags.StringVar(&o.depth, "tests", string(allTests), "\"own\" of the package, \"wide\" also of those that use it, \"e2e\" also end-to-end tests")
	flags.Func("files", "try only mutants in files whose names match this regular expression", func(text string) (err error) {
		o.files, err = regexp.Compile(text)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !slices.Contains([]depth{ownTests, wideTests, allTests}, depth(o.depth)) {
		return fmt.Errorf("-tests %s: want own, wide or e2e", o.depth)
	}
	chosen := targets
	if flags.NArg() > 0 {
		chosen = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !slices.Contains(flags.Args(), t.pkg) })
		if len(chosen) != flags.NArg() {
			return fmt.Errorf("not all of %q are packages that have mutants", flags.Args())
		}
	}
	text, err := os.ReadFile(o.equivalents)
	if err != nil {
		return err
	}
	equivalents, err := readEquivalents(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", o.equivalents, err)
	}
	folder, err := os.MkdirTemp("", "bridge-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	install := exec.CommandContext(ctx, "go", "install", gremlinsProgram)
	install.Env = append(os.Environ(), "GOBIN="+folder)
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("gremlins: %w\n%s", err, out)
	}
	gremlins := filepath.Join(folder, "gremlins")
	copied := filepath.Join(folder, "module")
	if err := snapshot(o.root, copied); err != nil {
		return err
	}
	var all []score
	for _, t := range chosen {
		s, err := measure(ctx, o, t, gremlins, copied, equivalents)
		if err != nil {
			return fmt.Errorf("%s: %w", t.pkg, err)
		}
		all = append(all, s)
	}
	return report(os.Stdout, all, o.max)
}

// snapshot copies what git knows of a working tree, or would, so that it may change meanwhile. The
// real codex is linked.
func snapshot(root, to string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not yet from the index
		}
		if err != nil {
			return err
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			return err
		}
		at := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, text, info.Mode().Perm())); err != nil {
			return err
		}
	}
	const codex = "testdata/npm/node_modules"
	return os.Symlink(filepath.Join(root, codex), filepath.Join(to, codex))
}

// result is a line of the results.
type result struct {
	Sources string // a hash of the package
	Tests   string // the depth
	key
	Line, Column int
	Type         string
	Outcome      outcome
}

// score is what became of the mutants of a package.
type score struct {
	pkg                         string
	killed, timeouts, notViable int
	equivalent                  int
	survivors                   []mutant
	wrong                       []string // entries of the list of equivalent mutants
	all                         int      // that gremlins finds
}

func measure(ctx context.Context, o options, t target, gremlins, root string, equivalents map[key]string) (score, error) {
	s := score{pkg: t.pkg}
	mutants, err := listMutants(gremlins, root, t.pkg)
	if err != nil {
		return s, err
	}
	s.all = len(mutants)
	unknown := make(map[key]bool)
	for k := range equivalents {
		if filepath.ToSlash(filepath.Dir(k.File)) == t.pkg {
			unknown[k] = true
		}
	}
	for _, m := range mutants {
		delete(unknown, m.key())
	}
	for k := range unknown {
		s.wrong = append(s.wrong, fmt.Sprintf("%s %s\n    - %s\n    + %s\n    there is no such mutant; take it off the list", k.File, k.Func, k.Old, k.New))
	}
	if o.files != nil {
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !o.files.MatchString(path.Base(m.File)) })
	}
	if o.sample > 0 && o.sample < len(mutants) {
		rand.New(rand.NewPCG(1, 2)).Shuffle( //nolint:gosec // every run takes the same sample
			len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:o.sample]
	}
	done, file, err := openResults(o.results, t.pkg)
	if err != nil {
		return s, err
	}
	defer file.Close()
	if o.survivors {
		before := make(map[result]bool)
		for r, got := range done {
			if got == survived {
				before[result{"", "", r.key, r.Line, r.Column, r.Type, ""}] = true
			}
		}
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !before[result{"", "", m.key(), m.Line, m.Column, m.Type, ""}] })
	}
	sources, err := hashOf(filepath.Join(root, t.pkg))
	if err != nil {
		return s, err
	}
	plain := &trial{root: root, target: t, depth: depth(o.depth)}
	began := time.Now()
	own := []string{"-count=1", "./" + t.pkg}
	if t.skip != "" {
		own = append(own, "-skip", t.skip)
	}
	if got, err := plain.test(ctx, "", 10*time.Minute, own...); got != survived || err != nil {
		return s, errors.Join(err, errors.New("the tests fail without any change: "+string(got)))
	}
	plain.longest = max(time.Minute, 5*time.Since(began))
	if plain.folder, err = os.MkdirTemp("", "bridge-mutate-"); err != nil {
		return s, err
	}
	defer os.RemoveAll(plain.folder)
	if err := plain.prepare(ctx, mutants); err != nil {
		return s, err
	}
	fmt.Fprintf(os.Stderr, "%s: %d mutants, %d of them in one program\n", t.pkg, len(mutants), len(plain.woven.ids))
	if own := plain.suites; len(own) > 0 && len(own[0].failing) > 0 {
		fmt.Fprintf(os.Stderr, "%s: tests that fail in that program and are built for each mutant: %s\n", t.pkg, strings.Join(own[0].failing, " "))
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	outcomes := make([]outcome, len(mutants))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	next := make(chan int)
	for range max(1, o.workers) {
		wg.Go(func() {
			for i := range next {
				m := mutants[i]
				got, err := plain.try(ctx, m)
				mu.Lock()
				outcomes[i] = got
				if err == nil {
					err = json.NewEncoder(file).Encode(result{sources, o.depth, m.key(), m.Line, m.Column, m.Type, got})
				}
				if err != nil && failed == nil {
					failed = err
					stop()
				}
				mu.Unlock()
				if got == survived {
					fmt.Fprintf(os.Stderr, "survived: %v\n", m)
				}
			}
		})
	}
	for i, m := range mutants {
		if got, ok := known(done, sources, o, m); ok {
			outcomes[i] = got
			continue
		}
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	if err := cmp.Or(failed, ctx.Err()); err != nil {
		return s, err
	}
	for i, m := range mutants {
		s.count(m, outcomes[i], equivalents)
	}
	return s, nil
}

// known returns what a run before has found of a mutant. A mutant that fewer tests have noticed is
// noticed by more. With
// -survivors one that survived is tried again: the results do not show whether a file of testdata has changed.
func known(done map[result]outcome, sources string, o options, m mutant) (outcome, bool) {
	for _, at := range []depth{ownTests, wideTests, allTests} {
		got, ok := done[result{sources, string(at), m.key(), m.Line, m.Column, m.Type, ""}]
		if ok && (got != survived || string(at) == o.depth && !o.survivors) {
			return got, true
		}
		if string(at) == o.depth {
			break
		}
	}
	return "", false
}

// count adds one mutant to the score.
func (s *score) count(m mutant, got outcome, equivalents map[key]string) {
	_, listed := equivalents[m.key()]
	switch {
	case got == notViable:
		s.notViable++
	case got == survived && listed:
		s.equivalent++
	case got == survived:
		s.survivors = append(s.survivors, m)
	case listed:
		s.wrong = append(s.wrong, fmt.Sprintf("%v\n    a test notices it; take it off the list", m))
		s.killed++
	case got == timedOut:
		s.timeouts++
	default:
		s.killed++
	}
}

// openResults returns what a run before has found, and the file that takes what this one finds.
func openResults(folder, pkg string) (map[result]outcome, *os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, strings.ReplaceAll(pkg, "/", "-")+".jsonl"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	done := make(map[result]outcome)
	for dec := json.NewDecoder(file); ; {
		var r result
		err := dec.Decode(&r)
		if err == io.EOF {
			return done, file, nil
		}
		if err != nil {
			file.Close()
			return nil, nil, fmt.Errorf("%s: %w; take the file away", file.Name(), err)
		}
		got := r.Outcome
		r.Outcome = ""
		done[r] = got
	}
}

// hashOf is a hash of the Go files of a folder.
func hashOf(folder string) (string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(name), len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// report prints the score, and returns an error when it is not good enough.
func report(out io.Writer, all []score, max float64) error {
	var total, lived int
	var wrong []string
	fmt.Fprintf(out, "%-18s %8s %7s %8s %9s %10s %10s %6s\n", "package", "mutants", "killed", "timeouts", "survived", "equivalent", "not viable", "score")
	for _, s := range all {
		dead := s.killed + s.timeouts
		total += dead + len(s.survivors)
		lived += len(s.survivors)
		wrong = append(wrong, s.wrong...)
		fmt.Fprintf(out, "%-18s %8d %7d %8d %9d %10d %10d %6s\n", s.pkg, dead+len(s.survivors)+s.equivalent+s.notViable, s.killed, s.timeouts,
			len(s.survivors), s.equivalent, s.notViable, percent(dead, dead+len(s.survivors)))
	}
	fmt.Fprintf(out, "%-18s %8s %7s %8s %9d %10s %10s %6s\n", "all", "", "", "", lived, "", "", percent(total-lived, total))
	for _, s := range all {
		for _, m := range s.survivors {
			fmt.Fprintf(out, "survived: %v\n", m)
		}
	}
	for _, text := range wrong {
		fmt.Fprintf(out, "not equivalent: %s\n", text)
	}
	switch {
	case total > 0 && 100*float64(lived) > max*float64(total):
		return fmt.Errorf("%d of %d mutants survive, more than %g %%: write tests that notice them, or list them as equivalent", lived, total, max)
	case len(wrong) > 0:
		return fmt.Errorf("%d entries of the list of equivalent mutants are wrong", len(wrong))
	}
	return nil
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}
