package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const checksumFile = "checksums.txt"

// entry is a file in an archive.
type entry struct {
	name       string
	executable bool
	content    []byte
}

// base returns the name of the archive for a target without the ending.
func (r *release) base(t target) string {
	return fmt.Sprintf("%s_%s_%s_%s", name, r.Version, t.OS, t.Arch)
}

// archive returns the name of the archive for a target.
func (r *release) archive(t target) string {
	if t.OS == "windows" {
		return r.base(t) + ".zip"
	}
	return r.base(t) + ".tar.gz"
}

// archives writes an archive for each target: the program, its pages and the licenses.
func (r *release) archives() error {
	for _, t := range r.targets {
		folder := r.base(t)
		entries := []entry{{name: folder + "/" + t.exe(), executable: true}}
		sources := []string{r.program(t)}
		add := func(name, source string) {
			entries, sources = append(entries, entry{name: folder + "/" + name}), append(sources, source)
		}
		for _, file := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
			add(file, file)
		}
		add(licenseFile, filepath.Join(r.work, licenseFile))
		add("man/codex-bridge.1", filepath.Join(r.work, "codex-bridge.1"))
		for _, file := range []string{"_codex-bridge", "codex-bridge.bash", "codex-bridge.fish"} {
			add("completions/"+file, filepath.Join(r.work, file))
		}
		for i := range entries {
			content, err := os.ReadFile(sources[i])
			if err != nil {
				return err
			}
			entries[i].content = content
		}
		write := tarball
		if t.OS == "windows" {
			write = zipped
		}
		if err := write(filepath.Join(r.dist, r.archive(t)), r.Date, entries); err != nil {
			return err
		}
	}
	return nil
}

// tarball writes a tar.gz whose bytes depend on the entries and the date only.
func tarball(file string, date time.Time, entries []entry) error {
	var buffer bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content)), Mode: 0o644, ModTime: date, Format: tar.FormatUSTAR}
		if e.executable {
			header.Mode = 0o755
		}
		err = errors.Join(err, w.WriteHeader(header))
		if err == nil {
			_, err = w.Write(e.content)
		}
	}
	if err := errors.Join(err, w.Close(), compressed.Close()); err != nil {
		return err
	}
	return os.WriteFile(file, buffer.Bytes(), 0o644)
}

// zipped writes a zip whose bytes depend on the entries and the date only.
func zipped(file string, date time.Time, entries []entry) error {
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date}
		header.SetMode(0o644)
		if e.executable {
			header.SetMode(0o755)
		}
		to, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := to.Write(e.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, buffer.Bytes(), 0o644)
}

// checksums writes the SHA-256 of each file in dist, in the format of sha256sum.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.dist)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		sum, err := hash(filepath.Join(r.dist, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, f.Name())
	}
	return os.WriteFile(filepath.Join(r.dist, checksumFile), []byte(b.String()), 0o644)
}

// hash returns the SHA-256 of a file in hexadecimal digits.
func hash(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// url returns the address from which users download an artifact.
func (r *release) url(file string) string {
	return strings.TrimSuffix(r.Repository, "/") + "/" + path.Join("releases/download", "v"+r.Version, file)
}

// has reports whether the release has a target.
func (r *release) has(system, arch string) bool {
	return slices.Contains(r.targets, target{system, arch})
}
