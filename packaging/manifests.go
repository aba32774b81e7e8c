package main

import (
	"embed"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// download is an archive that a manifest names.
type download struct{ URL, Hash, Folder string }

// manifests writes the files for the repositories of Homebrew, scoop and the AUR. They have the hashes of
// the archives.
func (r *release) manifests() error {
	data := map[string]any{"Description": description}
	for _, t := range r.targets {
		sum, err := hash(filepath.Join(r.dist, r.archive(t)))
		if err != nil {
			return err
		}
		data[t.OS+"_"+t.Arch] = download{r.url(r.archive(t)), sum, r.base(t)}
	}
	files := make(map[string]string) // by template
	if r.has("linux", "amd64") && r.has("linux", "arm64") {
		files["PKGBUILD"], files["SRCINFO"] = "aur/PKGBUILD", "aur/.SRCINFO"
		if r.has("darwin", "amd64") && r.has("darwin", "arm64") {
			files["formula.rb"] = "homebrew/codex-bridge.rb"
		}
	}
	if r.has("windows", "amd64") && r.has("windows", "arm64") {
		files["scoop.json"] = "scoop/codex-bridge.json"
	}
	for from, to := range files {
		to = filepath.Join(r.dist, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return err
		}
		if err := r.render(from, to, data); err != nil {
			return err
		}
	}
	return nil
}

// render writes a file from a template. The data gets the facts of the release.
func (r *release) render(from, to string, data map[string]any) error {
	t, err := template.New(from).Option("missingkey=error").ParseFS(templates, "templates/"+from)
	if err != nil {
		return err
	}
	data = maps.Clone(data)
	maps.Copy(data, map[string]any{
		"Version": r.Version, "Number": r.Number, "Prerelease": r.Prerelease,
		"Repository": r.Repository, "Maintainer": r.owner.Maintainer, "Date": r.Date.Format("2006-01-02T15:04:05Z"),
	})
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}
