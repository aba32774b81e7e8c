package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// Roles are the roles of a repository. The first is that of the root key, the others are those of the keys that
// sign bundles.
var Roles = []string{metadata.ROOT, metadata.TARGETS, metadata.SNAPSHOT, metadata.TIMESTAMP}

// repository is the state of a repository, which its roots verify.
type repository struct {
	roots     [][]byte // from the first version on
	root      *metadata.Metadata[metadata.RootType]
	before    *metadata.Metadata[metadata.RootType] // the root before; nil for none
	targets   *metadata.Metadata[metadata.TargetsType]
	snapshot  *metadata.Metadata[metadata.SnapshotType]
	timestamp *metadata.Metadata[metadata.TimestampType]
	text      map[string][]byte // of the metadata files, by role
	bundle    []byte
	table     []byte // nil for none
}

// readRepository reads a repository, which is nil if the folder has none.
func readRepository(folder string) (*repository, error) {
	r := &repository{text: make(map[string][]byte)}
	for {
		text, err := readFile(filepath.Join(folder, fmt.Sprintf("%d.root.json", len(r.roots)+1)), maxRoot)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		next, err := metadata.Root().FromBytes(text)
		if err == nil && r.root != nil {
			err = r.root.VerifyDelegate(metadata.ROOT, next)
		}
		if err == nil {
			err = next.VerifyDelegate(metadata.ROOT, next)
		}
		if err == nil && next.Signed.Version != int64(len(r.roots)+1) {
			err = fmt.Errorf("it has version %d", next.Signed.Version)
		}
		if err != nil {
			return nil, fmt.Errorf("%d.root.json: %w", len(r.roots)+1, err)
		}
		r.before, r.root, r.roots = r.root, next, append(r.roots, text)
	}
	if r.root == nil {
		return nil, nil //nolint:nilnil // there is no repository
	}
	var err error
	if r.timestamp, err = readRole(r, folder, metadata.TIMESTAMP, 0, metadata.Timestamp()); err != nil {
		return nil, err
	}
	if r.timestamp == nil { // the first publication was interrupted
		return r, nil
	}
	if r.snapshot, err = readRole(r, folder, metadata.SNAPSHOT, versionOf(r.timestamp.Signed.Meta, metadata.SNAPSHOT), metadata.Snapshot()); err != nil {
		return nil, err
	}
	if r.targets, err = readRole(r, folder, metadata.TARGETS, versionOf(r.snapshot.Signed.Meta, metadata.TARGETS), metadata.Targets()); err != nil {
		return nil, err
	}
	file, table, err := targetsOf(r.targets.Signed.Targets)
	if err != nil {
		return nil, err
	}
	if r.bundle, err = readTarget(folder, Target, file); err == nil && table != nil {
		r.table, err = readTarget(folder, TableTarget, table)
	}
	return r, err
}

// readTarget reads and verifies a target.
func readTarget(folder, name string, file *metadata.TargetFiles) ([]byte, error) {
	text, err := readFile(filepath.Join(folder, "targets", hex.EncodeToString(file.Hashes["sha256"])+"."+name), maxBundle)
	if err != nil {
		return nil, err
	}
	return text, file.VerifyLengthHashes(text)
}

// versionOf returns the version of a role in the metadata of another one.
func versionOf(meta map[string]*metadata.MetaFiles, role string) int64 {
	if m := meta[role+".json"]; m != nil {
		return m.Version
	}
	return 1
}

// readRole reads the metadata of a role; the timestamp is nil if it is missing. The root or the one before must
// have signed for its keys: an exchange of keys may have been interrupted.
func readRole[T metadata.Roles](r *repository, folder, role string, version int64, into *metadata.Metadata[T]) (*metadata.Metadata[T], error) {
	name := role + ".json"
	if version > 0 {
		name = fmt.Sprintf("%d.%s", version, name)
	}
	text, err := readFile(filepath.Join(folder, name), maxTargets)
	if version == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none yet
	}
	if err != nil {
		return nil, err
	}
	m, err := into.FromBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	err = r.root.VerifyDelegate(role, m)
	if err != nil && r.before != nil && r.before.VerifyDelegate(role, m) == nil {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not signed by the keys of its root: %w", name, err)
	}
	r.text[role] = text
	return m, nil
}

// describe returns length and hash of a metadata file.
func describe(version int64, text []byte) *metadata.MetaFiles {
	sum := sha256.Sum256(text)
	return &metadata.MetaFiles{Version: version, Length: int64(len(text)), Hashes: metadata.Hashes{"sha256": sum[:]}}
}

// setKeys gives a role other keys.
func setKeys(root *metadata.RootType, role string, keys []*Key) error {
	for _, id := range slices.Clone(root.Roles[role].KeyIDs) {
		if err := root.RevokeKey(id, role); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := root.AddKey(key.public, role); err != nil {
			return err
		}
	}
	root.Roles[role].Threshold = 1
	return nil
}
