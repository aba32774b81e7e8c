package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
)

// Names of the files in a repository: the bundle's configuration, and a newer table of Codex's methods, which may be
// missing.
const (
	Target      = "policy.toml"
	TableTarget = "codex-table.txt"
)

// Content is a verified bundle.
type Content struct {
	Version int64 // of the targets metadata
	Text    string
	Table   string   // a newer table; "" for none
	Signers []string // ids of the keys that have signed the targets metadata
	// Expires is when the first of the metadata expires: a pull fails then, unless there are newer ones.
	Expires     time.Time
	Refreshed   time.Time // the last pull that found the metadata valid
	RootVersion int64
}

// Name returns the name of the bundle in messages.
func (c *Content) Name() string { return fmt.Sprintf("bundle v%d %s", c.Version, Target) }

// TableName returns the name of the bundle's table in messages.
func (c *Content) TableName() string { return fmt.Sprintf("bundle v%d %s", c.Version, TableTarget) }

// isOlder reports whether c has metadata that are older than those of d. A new root may replace the keys of a
// repository whose versions an attacker has raised, so its version counts first.
func (c *Content) isOlder(d *Content) bool {
	return cmp.Or(cmp.Compare(c.RootVersion, d.RootVersion), cmp.Compare(c.Version, d.Version)) < 0
}

// stored is the file of a Client: a bundle with the metadata that verify it.
type stored struct {
	Refreshed time.Time `json:"refreshed"`
	Roots     [][]byte  `json:"roots"` // after the trusted root, in their order
	Timestamp []byte    `json:"timestamp"`
	Snapshot  []byte    `json:"snapshot"`
	Targets   []byte    `json:"targets"`
	Bundle    []byte    `json:"bundle"`
	Table     []byte    `json:"table,omitempty"` // nil if the targets have none
}

// verify verifies a bundle from the trusted root on, as of its refresh: at that time nothing had expired. It
// returns the last root, too.
func (s *stored) verify(root []byte) (*Content, []byte, error) {
	trusted, err := trustedmetadata.New(root)
	if err != nil {
		return nil, nil, fmt.Errorf("the trusted root: %w", err)
	}
	trusted.RefTime = s.Refreshed
	last := root
	for _, text := range s.Roots {
		next, err := metadata.Root().FromBytes(text)
		if err != nil {
			return nil, nil, err
		}
		if next.Signed.Version <= trusted.Root.Signed.Version {
			continue // the trusted root was replaced by a newer one
		}
		if _, err := trusted.UpdateRoot(text); err != nil {
			return nil, nil, err
		}
		last = text
	}
	if _, err := trusted.UpdateTimestamp(s.Timestamp); err != nil {
		return nil, nil, err
	}
	if _, err := trusted.UpdateSnapshot(s.Snapshot, false); err != nil {
		return nil, nil, err
	}
	targets, err := trusted.UpdateTargets(s.Targets)
	if err != nil {
		return nil, nil, err
	}
	file, table, err := targetsOf(targets.Signed.Targets)
	if err != nil {
		return nil, nil, err
	}
	if err := file.VerifyLengthHashes(s.Bundle); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", Target, err)
	}
	if err := verifyTable(table, s.Table); err != nil {
		return nil, nil, err
	}
	return &Content{
		Version: targets.Signed.Version, Text: string(s.Bundle), Table: string(s.Table), Signers: signers(trusted.Root, targets), Refreshed: s.Refreshed,
		RootVersion: trusted.Root.Signed.Version,
		Expires: slices.MinFunc([]time.Time{
			trusted.Root.Signed.Expires, trusted.Timestamp.Signed.Expires, trusted.Snapshot.Signed.Expires, targets.Signed.Expires,
		}, time.Time.Compare),
	}, last, nil
}

// verifyAfter is verify for what follows a verified bundle, which may be nil, and its last root, which needs no second
// verification. Unless the files differ, only the time can make them invalid.
func (s *stored) verifyAfter(last *stored, before *Content, top []byte) (*Content, []byte, error) {
	if before != nil && s.hasFilesOf(last) && s.Refreshed.Before(before.Expires) {
		after := *before
		after.Refreshed = s.Refreshed
		return &after, top, nil
	}
	return s.verify(top)
}

func (s *stored) hasFilesOf(o *stored) bool {
	return slices.EqualFunc(s.Roots, o.Roots, bytes.Equal) && bytes.Equal(s.Timestamp, o.Timestamp) &&
		bytes.Equal(s.Snapshot, o.Snapshot) && bytes.Equal(s.Targets, o.Targets) && bytes.Equal(s.Bundle, o.Bundle) && bytes.Equal(s.Table, o.Table)
}

// targetsOf returns the bundle of targets, and its table, nil if there is none.
func targetsOf(targets map[string]*metadata.TargetFiles) (file, table *metadata.TargetFiles, err error) {
	file, table = targets[Target], targets[TableTarget]
	if file == nil {
		return nil, nil, errors.New("the targets metadata have no " + Target)
	}
	for name, one := range map[string]*metadata.TargetFiles{Target: file, TableTarget: table} {
		switch {
		case one == nil:
		case len(one.Hashes) == 0: // the library would compare the length alone
			return nil, nil, errors.New("the targets metadata have no hash of " + name)
		case one.Length > maxBundle:
			return nil, nil, fmt.Errorf("%s has %d bytes, more than %d", name, one.Length, maxBundle)
		}
	}
	return file, table, nil
}

// verifyTable verifies the table of a bundle, which has none if the targets have none.
func verifyTable(file *metadata.TargetFiles, table []byte) error {
	if file == nil {
		if len(table) > 0 {
			return errors.New("the targets metadata have no " + TableTarget)
		}
		return nil
	}
	if err := file.VerifyLengthHashes(table); err != nil {
		return fmt.Errorf("%s: %w", TableTarget, err)
	}
	return nil
}

// signers returns the ids of the keys whose signatures of targets are valid.
func signers(root *metadata.Metadata[metadata.RootType], targets *metadata.Metadata[metadata.TargetsType]) (ids []string) {
	for _, id := range root.Signed.Roles[metadata.TARGETS].KeyIDs {
		one := *root
		one.Signed.Roles = map[string]*metadata.Role{metadata.TARGETS: {KeyIDs: []string{id}, Threshold: 1}}
		if one.VerifyDelegate(metadata.TARGETS, targets) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
