package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	markdownLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	markdownHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fencedCode      = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// Links to files of the repository and to headings resolve.
func TestDocLinksResolve(t *testing.T) {
	const root = "../.."
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	for _, dir := range []string{"docs", "editors", "testdata"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range pages {
		for _, link := range markdownLink.FindAllStringSubmatch(markdownText(t, page), -1) {
			file, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", page, link[1], err)
			} else if anchor != "" && !headings(markdownText(t, target))[anchor] {
				t.Errorf("%s: %s: no such heading", page, link[1])
			}
		}
	}
}

// Each page of docs is in the side bar of the site, whose build fails otherwise.
func TestSiteHasEachPage(t *testing.T) {
	site, err := os.ReadFile("../../packaging/site/.vitepress/config.mjs")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	err = filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			found++
			page := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			if !strings.Contains(string(site), `"`+page+`"`) {
				t.Errorf("packaging/site/.vitepress/config.mjs does not have %s", page)
			}
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d pages, %v", found, err)
	}
}

func markdownText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fencedCode.ReplaceAllString(strings.ReplaceAll(string(text), "\r\n", "\n"), "")
}

// headings returns the anchors of a page as GitHub creates them.
func headings(text string) map[string]bool {
	anchors := make(map[string]bool)
	for _, heading := range markdownHeading.FindAllStringSubmatch(text, -1) {
		anchors[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, markdownLink.ReplaceAllString(heading[1], "]"))] = true
	}
	return anchors
}
