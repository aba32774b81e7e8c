package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// Publication is what Publish signs.
type Publication struct {
	Bundle  []byte // nil: the bundle stays, with its table
	Table   []byte // a newer table of Codex's methods; nil: the new bundle has none
	RootKey *Key   // for a new repository, other keys, or a root that expires soon; else nil
	Keys    []*Key // of the other roles
	// Rotate has roles that get other keys. Their keys sign too.
	Rotate map[string][]*Key
	Expiry map[string]time.Duration // by role
	Now    time.Time
}

// Signed describes a metadata file that Publish has signed.
type Signed struct {
	Role    string
	Version int64
	Expires time.Time
	Keys    []string // ids
}

// Published is the result of Publish.
type Published struct {
	New     bool // there was no repository
	Changed bool // the bundle has changed
	Version int64
	Signed  []Signed
}

// Publish makes or updates a repository. It verifies all as a client does before it writes. At any moment a
// client reads the repository as it was or as it is then.
func Publish(folder string, p Publication) (done Published, err error) {
	if err := os.MkdirAll(filepath.Join(folder, "targets"), 0o755); err != nil { //nolint:gosec // a web server reads it
		return done, err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(folder, ".lock")).Lock()
	if err != nil {
		return done, err
	}
	defer unlock()
	old, err := readRepository(folder)
	if err != nil {
		return done, fmt.Errorf("%s: %w", folder, err)
	}
	w := &publisher{Publication: p, old: old, text: make(map[string][]byte)}
	if err := w.sign(); err != nil {
		return done, err
	}
	first := w.roots[0]
	state := stored{Refreshed: p.Now, Roots: w.roots[1:], Timestamp: w.text[metadata.TIMESTAMP], Snapshot: w.text[metadata.SNAPSHOT], Targets: w.text[metadata.TARGETS], Bundle: w.bundle, Table: w.table}
	if _, _, err := state.verify(first); err != nil {
		return done, fmt.Errorf("a client would refuse this: %w", err)
	}
	return w.done, w.write(folder)
}

// publisher signs and writes a publication.
type publisher struct {
	Publication
	old    *repository // nil for none
	root   *metadata.Metadata[metadata.RootType]
	roots  [][]byte
	bundle []byte
	table  []byte
	// text has the new files of the other roles, and the old ones of those that stay.
	text map[string][]byte
	// files are the new files below the folder, in the order in which they are written.
	files []newFile
	// bridges is true if the metadata are also valid under the root before.
	bridges bool
	done    Published
}

type newFile struct {
	name string
	text []byte
}

func (w *publisher) sign() error {
	if err := w.signRoot(); err != nil {
		return err
	}
	w.bundle, w.table = w.Bundle, w.Table
	targets := metadata.Targets()
	switch {
	case w.old != nil && w.old.targets != nil:
		targets = w.old.targets
		w.done.Changed = w.Bundle != nil && !(bytes.Equal(w.Bundle, w.old.bundle) && bytes.Equal(w.Table, w.old.table))
		if w.Bundle == nil {
			w.bundle, w.table = w.old.bundle, w.old.table
		}
	case w.Bundle == nil:
		return errors.New("the repository has no bundle yet; name the folder with " + Target)
	default:
		w.done.Changed = true
		targets.Signed.Version = 0
	}
	snapshot, timestamp := metadata.Snapshot(), metadata.Timestamp()
	snapshot.Signed.Version, timestamp.Signed.Version = 0, 0
	if w.old != nil && w.old.timestamp != nil {
		snapshot, timestamp = w.old.snapshot, w.old.timestamp
	}
	w.bridges = true
	if w.done.Changed || w.isDue(metadata.TARGETS, targets.Signed.Expires) || w.root.VerifyDelegate(metadata.TARGETS, targets) != nil {
		targets.Signed.Version++
		targets.Signed.Expires = w.expires(metadata.TARGETS)
		targets.Signed.Targets = make(map[string]*metadata.TargetFiles)
		files := []newFile{addTarget(targets, Target, w.bundle)}
		if w.table != nil {
			files = append(files, addTarget(targets, TableTarget, w.table))
		}
		if err := signRole(w, metadata.TARGETS, targets, targets.Signed.Version, targets.Signed.Expires); err != nil {
			return err
		}
		w.files = append(files, w.files...)
	} else {
		w.text[metadata.TARGETS] = w.old.text[metadata.TARGETS]
	}
	w.done.Version = targets.Signed.Version
	if versionOf(snapshot.Signed.Meta, metadata.TARGETS) != targets.Signed.Version || snapshot.Signed.Version == 0 ||
		w.isDue(metadata.SNAPSHOT, snapshot.Signed.Expires) || w.root.VerifyDelegate(metadata.SNAPSHOT, snapshot) != nil {
		snapshot.Signed.Version++
		snapshot.Signed.Expires = w.expires(metadata.SNAPSHOT)
		snapshot.Signed.Meta["targets.json"] = describe(targets.Signed.Version, w.text[metadata.TARGETS])
		if err := signRole(w, metadata.SNAPSHOT, snapshot, snapshot.Signed.Version, snapshot.Signed.Expires); err != nil {
			return err
		}
	} else {
		w.text[metadata.SNAPSHOT] = w.old.text[metadata.SNAPSHOT]
	}
	timestamp.Signed.Version++
	timestamp.Signed.Expires = w.expires(metadata.TIMESTAMP)
	timestamp.Signed.Meta["snapshot.json"] = describe(snapshot.Signed.Version, w.text[metadata.SNAPSHOT])
	return signRole(w, metadata.TIMESTAMP, timestamp, timestamp.Signed.Version, timestamp.Signed.Expires)
}

// addTarget adds a file to the targets metadata, and returns it with the name below the folder.
func addTarget(to *metadata.Metadata[metadata.TargetsType], name string, text []byte) newFile {
	sum := sha256.Sum256(text)
	to.Signed.Targets[name] = &metadata.TargetFiles{Length: int64(len(text)), Hashes: metadata.Hashes{"sha256": sum[:]}}
	return newFile{filepath.Join("targets", hex.EncodeToString(sum[:])+"."+name), text}
}

// signRoot signs another root if there is none, if roles get other keys, or if it expires soon and the key is
// there.
func (w *publisher) signRoot() error {
	if w.old == nil {
		if w.RootKey == nil || len(w.Keys) != 1 {
			return errors.New("a new repository needs one root key and one other key: --root-key FILE --key FILE")
		}
		w.done.New = true
		w.root = metadata.Root()
		w.root.Signed.Version = 0
		for _, role := range Roles {
			keys := w.Keys
			if role == metadata.ROOT {
				keys = []*Key{w.RootKey}
			}
			if err := setKeys(&w.root.Signed, role, keys); err != nil {
				return err
			}
		}
	} else {
		w.root, w.roots = w.old.root, w.old.roots
		if len(w.Rotate) == 0 && (w.RootKey == nil || !w.isDue(metadata.ROOT, w.root.Signed.Expires)) {
			return w.checkSeparate()
		}
		if w.RootKey == nil {
			return errors.New("to give roles other keys, name the root key: --root-key FILE")
		}
		next, err := metadata.Root().FromBytes(w.roots[len(w.roots)-1]) // a copy
		if err != nil {
			return err
		}
		w.root = next
	}
	for role, keys := range w.Rotate {
		if err := setKeys(&w.root.Signed, role, keys); err != nil {
			return err
		}
	}
	if err := w.checkSeparate(); err != nil {
		return err
	}
	w.root.Signed.Version++
	w.root.Signed.Expires = w.expires(metadata.ROOT)
	keys := append([]*Key{w.RootKey}, w.Rotate[metadata.ROOT]...)
	if err := signWith(w.root, keys); err != nil {
		return err
	}
	if w.old != nil {
		if err := w.old.root.VerifyDelegate(metadata.ROOT, w.root); err != nil {
			return needsKey(metadata.ROOT, "--root-key", w.old.root, err)
		}
	}
	if err := w.root.VerifyDelegate(metadata.ROOT, w.root); err != nil {
		return needsKey(metadata.ROOT, "--root-key", w.root, err)
	}
	text, err := w.root.ToBytes(true)
	if err != nil {
		return err
	}
	w.roots = append(slices.Clip(w.roots), text)
	w.done.Signed = append(w.done.Signed, Signed{metadata.ROOT, w.root.Signed.Version, w.root.Signed.Expires, idsOf(keys)})
	return nil
}

// checkSeparate returns an error if a key of the root has another role: that key is used often, and so is stolen
// more easily.
func (w *publisher) checkSeparate() error {
	for _, id := range w.root.Signed.Roles[metadata.ROOT].KeyIDs {
		for _, role := range Roles[1:] {
			if slices.Contains(w.root.Signed.Roles[role].KeyIDs, id) {
				return fmt.Errorf("the root key can't be the key of %s, too; name another file", role)
			}
		}
	}
	return nil
}

// isDue reports whether less than half of the time is left until metadata expire.
func (w *publisher) isDue(role string, expires time.Time) bool {
	return expires.Sub(w.Now) < w.Expiry[role]/2
}

func (w *publisher) expires(role string) time.Time {
	return w.Now.Add(w.Expiry[role]).UTC().Truncate(time.Second)
}

// signRole signs the metadata of a role with the keys of its root and of the root before.
func signRole[T metadata.Roles](w *publisher, role string, m *metadata.Metadata[T], version int64, expires time.Time) error {
	ids := slices.Clone(w.root.Signed.Roles[role].KeyIDs)
	if w.old != nil {
		ids = append(ids, w.old.root.Signed.Roles[role].KeyIDs...)
	}
	var keys []*Key
	add := func(all []*Key) {
		for _, key := range all {
			if slices.Contains(ids, key.ID) && !slices.Contains(idsOf(keys), key.ID) {
				keys = append(keys, key)
			}
		}
	}
	add(w.Rotate[role])
	add(w.Keys)
	for _, all := range w.Rotate {
		add(all)
	}
	if err := signWith(m, keys); err != nil {
		return err
	}
	if err := w.root.VerifyDelegate(role, m); err != nil {
		return needsKey(role, "--key", w.root, err)
	}
	w.bridges = w.bridges && (w.old == nil || w.old.root.VerifyDelegate(role, m) == nil)
	text, err := m.ToBytes(true)
	if err != nil {
		return err
	}
	w.text[role] = text
	name := role + ".json"
	if role != metadata.TIMESTAMP {
		name = fmt.Sprintf("%d.%s", version, name)
	}
	w.files = append(w.files, newFile{name, text})
	w.done.Signed = append(w.done.Signed, Signed{role, version, expires, idsOf(keys)})
	return nil
}

func signWith[T metadata.Roles](m *metadata.Metadata[T], keys []*Key) error {
	m.Signatures = nil
	for i, key := range keys {
		if slices.Contains(idsOf(keys[:i]), key.ID) {
			continue
		}
		if _, err := m.Sign(key.signer); err != nil {
			return fmt.Errorf("%s: %w", key.File, err)
		}
	}
	return nil
}

func idsOf(keys []*Key) (ids []string) {
	for _, key := range keys {
		ids = append(ids, key.ID)
	}
	return ids
}

// needsKey returns the error of a role whose key is missing.
func needsKey(role, flag string, root *metadata.Metadata[metadata.RootType], err error) error {
	var short []string
	for _, id := range root.Signed.Roles[role].KeyIDs {
		short = append(short, ShortID(id))
	}
	return fmt.Errorf("the role %s needs the key %s; name its file with %s (%w)", role, strings.Join(short, " or "), flag, err)
}

// ShortID returns the start of a key's id, which is enough for people.
func ShortID(id string) string { return id[:min(len(id), 12)] }

// write writes the new files. Clients begin with the timestamp and end with the bundle, so the timestamp is
// written after all that it refers to. The new root comes last if the metadata are also valid under the one
// before, and first otherwise.
func (w *publisher) write(folder string) error {
	files := w.files
	if w.old == nil || len(w.roots) > len(w.old.roots) {
		text := w.roots[len(w.roots)-1]
		root := []newFile{{fmt.Sprintf("%d.root.json", len(w.roots)), text}, {"root.json", text}}
		if w.bridges && w.old != nil {
			files = append(files, root...)
		} else {
			files = append(root, files...)
		}
	}
	for _, f := range files {
		if err := replaceFile(filepath.Join(folder, f.name), f.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
