package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"codex-bridge.example/bridge/codex"
)

// bot is the identity under which a workflow of GitHub commits. Other commits are those of persons.
const (
	botName  = "github-actions[bot]"
	botEmail = "41898282+github-actions[bot]@users.noreply.github.com"
)

// proposer opens pull requests.
type proposer struct {
	root string
	base string // the commit that the changes are for
	into string // the branch that it is in
}

// propose opens or updates the pull request with changes.patch and summary.md of a folder. It leaves a branch alone
// that has commits of a person, and a pull request that a person has closed. It closes those of older releases.
func propose(ctx context.Context, root, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	p := &proposer{root: root}
	if p.base, err = p.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	if p.into, err = p.git(ctx, "branch", "--show-current"); err != nil {
		return err
	}
	patch := filepath.Join(folder, "changes.patch")
	if err := p.checkFiles(ctx, patch); err != nil {
		return err
	}
	if _, err := p.git(ctx, "apply", "--index", patch); err != nil {
		return err
	}
	release, err := movedTo(root)
	if err != nil {
		return err
	}
	branch := "codex-" + release
	remote, err := p.remote(ctx, branch)
	if err != nil {
		return err
	}
	if remote != "" {
		if free, err := p.isOwn(ctx, remote); err != nil || !free {
			return errors.Join(err, say("%s has commits of a person: it is left alone", branch))
		}
	}
	number, state, err := p.find(ctx, branch)
	if err != nil {
		return err
	}
	if state == "CLOSED" {
		return say("pull request %d has been closed: nothing is proposed", number)
	}
	if _, err := p.git(ctx, "checkout", "--quiet", "--detach"); err != nil {
		return err
	}
	title := "methods: know Codex " + release
	if _, err := p.git(ctx, "-c", "user.name="+botName, "-c", "user.email="+botEmail, "commit", "--quiet", "-m", title, "-m",
		"Rows with TODO or unjudged wait for the judgement of a person."); err != nil {
		return err
	}
	if remote != "" {
		if _, err := p.git(ctx, "diff", "--quiet", remote, "HEAD"); err == nil && number != 0 {
			return say("pull request %d has these changes", number)
		}
	}
	if _, err := p.git(ctx, "push", "--quiet", "--force-with-lease="+branch+":"+remote, "origin", "HEAD:refs/heads/"+branch); err != nil {
		return err
	}
	body := filepath.Join(folder, "summary.md")
	if number != 0 {
		_, err = p.gh(ctx, "pr", "edit", fmt.Sprint(number), "--title", title, "--body-file", body)
	} else {
		_, err = p.gh(ctx, "pr", "create", "--title", title, "--body-file", body, "--head", branch, "--base", p.into)
	}
	return errors.Join(err, p.closeOlder(ctx, release))
}

// data are the files that a proposal may change: none has code.
var data = regexp.MustCompile(`^(bridge/methods/\w+\.(txt|json)|cmd/bridge-schema/older\.txt|docs/[\w/]+\.md|README\.md|testdata/npm/package(-lock)?\.json|testdata/schema/[\w-]+\.json)$`)

// checkFiles returns an error if a patch has other files. The new Codex ran where the patch was made.
func (p *proposer) checkFiles(ctx context.Context, patch string) error {
	out, err := p.git(ctx, "apply", "--numstat", "-z", patch)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		cells := strings.SplitN(line, "\t", 3)
		if len(cells) != 3 || !data.MatchString(cells[2]) {
			return fmt.Errorf("the patch changes %q, which is no data of a release", cells[len(cells)-1])
		}
	}
	return nil
}

// movedTo returns the release that the table of the working tree names.
func movedTo(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "bridge", "methods", "methods.txt"))
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	release := strings.TrimPrefix(first, "codex ")
	if !stable.MatchString(release) {
		return "", fmt.Errorf("bridge/methods/methods.txt begins with %q, and not with a release", first)
	}
	return release, nil
}

// remote fetches a branch, and returns its commit; "" if there is no such branch.
func (p *proposer) remote(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	out, err := p.git(ctx, "ls-remote", "origin", ref)
	if err != nil || out == "" {
		return "", err
	}
	commit, _, _ := strings.Cut(out, "\t")
	_, err = p.git(ctx, "fetch", "--quiet", "origin", ref)
	return commit, err
}

// isOwn reports whether a branch has no commits of persons.
func (p *proposer) isOwn(ctx context.Context, commit string) (bool, error) {
	out, err := p.git(ctx, "log", "--format=%ae%n%ce", p.base+".."+commit)
	if err != nil {
		return false, err
	}
	for email := range strings.Lines(out) {
		if strings.TrimSpace(email) != botEmail {
			return false, nil
		}
	}
	return true, nil
}

// pullRequest is a pull request, as gh prints it.
type pullRequest struct {
	Number            int
	State             string
	HeadRefName       string
	IsCrossRepository bool // from a fork, whose branches may have any name
}

func (p *proposer) pullRequests(ctx context.Context, args ...string) ([]pullRequest, error) {
	out, err := p.gh(ctx, append([]string{"pr", "list", "--limit", "200", "--json", "number,state,headRefName,isCrossRepository"}, args...)...)
	if err != nil {
		return nil, err
	}
	var list, own []pullRequest
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("gh pr list: %w", err)
	}
	for _, one := range list {
		if !one.IsCrossRepository {
			own = append(own, one)
		}
	}
	return own, nil
}

// find returns the pull request of a branch that is not merged: the open one, else the newest; 0 if there is none.
func (p *proposer) find(ctx context.Context, branch string) (number int, state string, err error) {
	list, err := p.pullRequests(ctx, "--head", branch, "--state", "all")
	for _, one := range list {
		if one.HeadRefName == branch && one.State != "MERGED" && (number == 0 || one.State == "OPEN") {
			number, state = one.Number, one.State
		}
	}
	return number, state, err
}

// closeOlder closes the pull requests of older releases, which the new one includes, unless a person works on them.
func (p *proposer) closeOlder(ctx context.Context, release string) error {
	list, err := p.pullRequests(ctx, "--state", "open")
	if err != nil {
		return err
	}
	for _, one := range list {
		older, ok := strings.CutPrefix(one.HeadRefName, "codex-")
		if !ok || !stable.MatchString(older) || codex.CompareVersions(older, release) >= 0 {
			continue
		}
		commit, err := p.remote(ctx, one.HeadRefName)
		if err != nil {
			return err
		}
		if free, err := p.isOwn(ctx, commit); err != nil || !free {
			if err := errors.Join(err, say("pull request %d has commits of a person: it stays open", one.Number)); err != nil {
				return err
			}
			continue
		}
		if _, err := p.gh(ctx, "pr", "close", fmt.Sprint(one.Number), "--comment", "The pull request of Codex "+release+" has these changes, too."); err != nil {
			return err
		}
	}
	return nil
}

func (p *proposer) git(ctx context.Context, args ...string) (string, error) {
	out, err := output(ctx, p.root, "git", args...)
	return strings.TrimSpace(out), err
}

func (p *proposer) gh(ctx context.Context, args ...string) (string, error) {
	return output(ctx, p.root, "gh", args...)
}

// say prints a line.
func say(format string, args ...any) error {
	_, err := fmt.Printf(format+"\n", args...)
	return err
}
