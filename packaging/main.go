// Command packaging makes a release from the files of a commit: archives, packages for deb, rpm, apk and
// npm, manifests for Homebrew, scoop and the AUR, SBOMs, checksums and a signature. `make release` runs it.
//
// It is a small program instead of a configuration of goreleaser for three reasons. npm packages are in
// goreleaser's paid edition only, and its Homebrew formulas are deprecated, so half of the work would
// stay here. It has 1,800 packages to compile, among them the SDKs of three clouds. Its present release
// needs a newer Go than this module, and so does a dependency of nfpm from 2.46 on. nfpm, cyclonedx-gomod
// and minisign do the parts that have a format of their own.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/methods"
)

// The programs that `go run` runs, at versions that Go 1.26 builds.
const (
	nfpm      = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"
	cyclonedx = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"
	minisign  = "aead.dev/minisign/cmd/minisign@v0.3.0"
)

const (
	name        = "codex-bridge"
	description = "A proxy between an editor and OpenAI's Codex that enforces a policy"
)

// release describes a release and the folders that it is made in.
type release struct {
	Version    string // without v
	Number     string // of the version, without the pre-release
	Prerelease string // such as rc1; "" for none
	Commit     string
	Date       time.Time // of the commit; the time of every file
	Repository string    // the address of the repository

	owner      owner
	packageKey string // the file with the OpenPGP secret key of deb and rpm; "" for none
	apkKey     string // the file with the RSA secret key of apk; "" for none
	trial      bool   // placeholders are accepted
	checkOnly  bool   // build nothing

	targets []target
	dist    string // gets the artifacts
	work    string // gets files that are in several artifacts; removed at the end
	key     string // the file with the minisign secret key; "" for none
	only    string // the only step to do; "" for all
	rebuild bool   // compile every package, also those in the build cache
}

// target is a system that the program is built for.
type target struct{ OS, Arch string }

func (t target) String() string { return t.OS + "/" + t.Arch }

// exe returns the name of the program on the system.
func (t target) exe() string {
	if t.OS == "windows" {
		return name + ".exe"
	}
	return name
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run() error {
	r := release{}
	var targets string
	flag.StringVar(&r.Version, "version", "", "the version, such as 1.2.3")
	flag.StringVar(&r.Repository, "repository", "", "the address of the repository")
	flag.StringVar(&r.dist, "dist", "dist", "the folder for the artifacts; its contents are removed")
	flag.StringVar(&r.key, "key", "", "a file with a minisign secret key")
	flag.StringVar(&r.packageKey, "package-key", "", "a file with an OpenPGP secret key, for deb and rpm")
	flag.StringVar(&r.apkKey, "apk-key", "", "a file with an RSA secret key, for apk")
	flag.BoolVar(&r.trial, "trial", false, "accept placeholders, for something that nobody gets")
	flag.BoolVar(&r.checkOnly, "check", false, "only name what a person has to set before a release")
	flag.StringVar(&r.only, "only", "", "do only this step, such as \"Neovim plugin\"")
	flag.BoolVar(&r.rebuild, "rebuild", false, "compile every package again, without the build cache")
	flag.StringVar(&targets, "targets", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64", "the systems to build for")
	flag.Parse()
	if err := r.prepare(); err != nil || r.checkOnly {
		return err
	}
	for word := range strings.FieldsSeq(targets) {
		system, arch, ok := strings.Cut(word, "/")
		if !ok {
			return fmt.Errorf("target %q: write it as linux/amd64", word)
		}
		r.targets = append(r.targets, target{system, arch})
	}
	if err := r.readCommit(); err != nil {
		return err
	}
	return r.make()
}

// prepare sets the version and the owner, and checks that nothing is missing for a release.
func (r *release) prepare() error {
	if err := r.setVersion(r.Version); err != nil && !r.checkOnly {
		return err
	} else if err != nil { // the commit has no tag yet
		r.Version = ""
	}
	if err := r.readOwner(); err != nil || r.trial {
		return err
	}
	return r.check()
}

// versions is the form of a version; N is a number. All formats order these names of pre-releases.
var versions = regexp.MustCompile(strings.ReplaceAll(`^v?((N\.N\.N)(?:-(alpha|beta|rc)\.(N))?)$`, "N", `(?:0|[1-9]\d*)`))

// setVersion sets the version and its parts. Packages join the parts in their own way: apk refuses 1.2.3_rc.1, and
// pacman takes it for a later version than 1.2.3.
func (r *release) setVersion(version string) error {
	parts := versions.FindStringSubmatch(version)
	if parts == nil {
		return fmt.Errorf("%q is not a version such as 1.2.3 or 1.2.3-rc.1: tag the commit, or run make release VERSION=1.2.3", version)
	}
	r.Version, r.Number, r.Prerelease = parts[1], parts[2], parts[3]+parts[4]
	return nil
}

// readCommit sets the commit and its date, and warns if the files differ from it.
func (r *release) readCommit() error {
	out, err := output("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	var seconds int64
	if _, err := fmt.Sscan(out, &r.Commit, &seconds); err != nil {
		return err
	}
	r.Date = time.Unix(seconds, 0).UTC()
	if changed, err := output("git", "status", "--porcelain", "--untracked-files=no"); err != nil {
		return err
	} else if changed != "" {
		fmt.Println("warning: the files have changes that are not committed, so this is not a release of", r.Commit)
	}
	return nil
}

// make writes all artifacts to the folder dist.
func (r *release) make() (err error) {
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o750); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "codex-bridge-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()

	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"programs", r.programs},
		{"manual page and completions", r.pages},
		{"licenses", r.licenses},
		{"archives", r.archives},
		{"packages", r.packages},
		{"SBOMs", r.sboms},
		{"table of Codex's methods", r.table},
		{"checksums", r.checksums},
		{"signature", r.sign},
		{"npm packages", r.npm},
		{"Neovim plugin", r.neovim},
		{"manifests", r.manifests},
	} {
		if r.only != "" && r.only != step.name {
			continue
		}
		begin := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%-28s %s\n", step.name, time.Since(begin).Round(100*time.Millisecond))
	}
	return r.list()
}

// programs builds the program for each target, and for this machine, which prints the manual page.
func (r *release) programs() error {
	const build = "codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	flags := fmt.Sprintf("-s -w -X %[1]s.Version=%[2]s -X %[1]s.Commit=%[3]s -X %[1]s.Date=%[4]s", build, r.Version, r.Commit, r.Date.Format(time.RFC3339))
	host := target{runtime.GOOS, runtime.GOARCH}
	all := slices.Clone(r.targets)
	if !slices.Contains(all, host) {
		all = append(all, host)
	}
	for _, t := range all {
		// The commit is in the variables. -buildvcs=false leaves out whether the folder has changes, and so
		// a build from an archive of the source is the same.
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", fmt.Sprintf("-a=%t", r.rebuild), "-ldflags", flags, "-o", r.program(t), "./cmd/codex-bridge")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOAMD64=v1", "GOARM64=v8.0")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if info, err := os.Stat(r.program(t)); err == nil {
			fmt.Printf("  %-14s %5.1f MiB\n", t, float64(info.Size())/(1<<20))
		}
	}
	return nil
}

// program returns the path of a built program.
func (r *release) program(t target) string {
	return filepath.Join(r.work, t.OS+"_"+t.Arch, t.exe())
}

// pages writes the manual page and the completions. The program prints both from its commands.
func (r *release) pages() error {
	host := r.program(target{runtime.GOOS, runtime.GOARCH})
	for file, args := range map[string][]string{
		"codex-bridge.1":    {"man"},
		"codex-bridge.bash": {"completion", "bash"},
		"codex-bridge.fish": {"completion", "fish"},
		"_codex-bridge":     {"completion", "zsh"},
	} {
		text, err := exec.Command(host, args...).Output()
		if err != nil {
			return fmt.Errorf("%v: %w", args, err)
		}
		if file == "_codex-bridge" { // zsh loads it from a folder of fpath at the first completion, and runs it
			text = fmt.Appendf(nil, "#compdef codex-bridge\n%s_bash_complete -o default -F _codex_bridge \"$@\"\n", text)
		}
		if err := os.WriteFile(filepath.Join(r.work, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packages makes the packages for deb, rpm and apk.
func (r *release) packages() error {
	if r.packageKey == "" {
		fmt.Println("the deb and rpm packages are not signed: set PACKAGE_KEY to the file with the OpenPGP secret key")
	}
	if r.apkKey == "" {
		fmt.Println("the apk packages are not signed: set APK_KEY to the file with the RSA secret key")
	}
	for _, t := range r.targets {
		if t.OS != "linux" {
			continue
		}
		config := filepath.Join(r.work, "nfpm.yaml")
		if err := r.render("nfpm.yaml", config, map[string]any{
			"Arch": t.Arch, "Program": r.program(t), "Work": r.work, "Description": description,
			"PackageKey": r.packageKey, "ApkKey": r.apkKey, "ApkKeyName": filepath.Base(apkPublic),
		}); err != nil {
			return err
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := tool(nfpm, nil, "package", "--config", config, "--packager", format, "--target", r.dist); err != nil {
				return err
			}
		}
	}
	return r.renamePackages()
}

// renamePackages puts a dot for each tilde in the name of a file, as GitHub does with the files of a release.
// The checksums name the files that users download.
func (r *release) renamePackages() error {
	files, err := os.ReadDir(r.dist)
	for _, file := range files {
		if name := strings.ReplaceAll(file.Name(), "~", "."); name != file.Name() {
			err = errors.Join(err, os.Rename(filepath.Join(r.dist, file.Name()), filepath.Join(r.dist, name)))
		}
	}
	return err
}

// table writes the table of Codex's methods, which an older codex-bridge can take by codex.table.
func (r *release) table() error {
	return os.WriteFile(filepath.Join(r.dist, "codex-table-"+methods.Measured+".txt"), []byte(methods.Export()), 0o644)
}

// sboms writes the modules that are in each program, in the format of CycloneDX.
func (r *release) sboms() error {
	for _, t := range r.targets {
		file := filepath.Join(r.dist, r.base(t)+".cdx.json")
		if err := tool(cyclonedx, nil, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", "v"+r.Version, "-output", file, r.program(t)); err != nil {
			return err
		}
	}
	return nil
}

// sign signs the checksums, which have the hash of every other file. A release's signature is that of the public key
// in the tree.
func (r *release) sign() error {
	if r.key == "" {
		fmt.Println("nothing is signed: set MINISIGN_KEY to the file with the secret key")
		return nil
	}
	sums := filepath.Join(r.dist, checksumFile)
	if err := tool(minisign, os.Stdin, "-S", "-s", r.key, "-t", fmt.Sprintf("%s %s %s", name, r.Version, r.Commit), "-m", sums); err != nil || r.trial {
		return err
	}
	if err := tool(minisign, nil, "-V", "-q", "-p", publicKey, "-m", sums); err != nil {
		return fmt.Errorf("MINISIGN_KEY is not the secret key of %s: %w", publicKey, err)
	}
	return nil
}

// list prints the artifacts with their sizes.
func (r *release) list() error {
	return filepath.Walk(r.dist, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			fmt.Printf("%9d  %s\n", info.Size(), path)
		}
		return err
	})
}

// tool runs a Go program of another module. Standard input is for the password of a key. An SBOM has the
// hash of the tool, which -trimpath makes the same in every folder.
func tool(module string, stdin *os.File, args ...string) error {
	cmd := exec.Command("go", append([]string{"run", "-trimpath", module}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", module, err, out)
	}
	return nil
}

// output returns the trimmed output of a command.
func output(command string, args ...string) (string, error) {
	cmd := exec.Command(command, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %v: %w: %s", command, args, err, cmp.Or(strings.TrimSpace(string(exit.Stderr)), "no message"))
	}
	return strings.TrimSpace(string(out)), err
}
