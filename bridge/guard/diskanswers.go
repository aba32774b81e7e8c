package guard

import (
	"errors"

	"codex-bridge.example/bridge/policy"
)

// diskAnswers has what the disk has answered during the verification of a thread. So a verification
// can ask the disk without a lock, and be repeated with the lock held. Not safe for concurrent use.
type diskAnswers struct {
	asks   bool // a question that is not known yet goes to the disk
	missed bool // a question was neither known nor asked: the verification does not count

	canonical, followed map[string]diskAnswer[string]
	readings            map[string]diskAnswer[[]string]
	roots               map[string]diskAnswer[[]string]
	files               map[string]diskAnswer[bool]
	policyFiles         map[string]diskAnswer[[]string]
}

type diskAnswer[T any] struct {
	found T
	err   error
}

var errNotAsked = errors.New("the disk was not asked")

// answer returns the known answer to a question about a path, or asks the disk.
func answer[T any](a *diskAnswers, known *map[string]diskAnswer[T], path string, ask func() (T, error)) (T, error) {
	got, ok := (*known)[path]
	switch {
	case ok:
	case !a.asks:
		a.missed = true
		return got.found, errNotAsked
	default:
		if *known == nil {
			*known = make(map[string]diskAnswer[T])
		}
		got.found, got.err = ask()
		(*known)[path] = got
	}
	return got.found, got.err
}

// in returns a machine whose disk the answers stand in for.
func (a *diskAnswers) in(world policy.State) policy.State {
	disk := answeringDisk{a, world}
	if world.Paths != nil {
		world.Paths = disk
	}
	if world.Repositories != nil {
		world.Repositories = disk
	}
	if world.PolicyFiles != nil {
		world.PolicyFiles = disk
	}
	if world.IsFile != nil {
		world.IsFile = disk.isFile
	}
	return world
}

// answeringDisk implements the interfaces of policy.State with the answers of a disk.
type answeringDisk struct {
	*diskAnswers
	disk policy.State
}

// Canonical implements policy.Paths.
func (d answeringDisk) Canonical(path string) (string, error) {
	return answer(d.diskAnswers, &d.canonical, path, func() (string, error) { return d.disk.Paths.Canonical(path) })
}

// Follow implements policy.Paths.
func (d answeringDisk) Follow(path string) (string, error) {
	return answer(d.diskAnswers, &d.followed, path, func() (string, error) { return d.disk.Paths.Follow(path) })
}

// Readings implements policy.Paths.
func (d answeringDisk) Readings(path string) ([]string, error) {
	return answer(d.diskAnswers, &d.readings, path, func() ([]string, error) { return d.disk.Paths.Readings(path) })
}

// Roots implements policy.Repositories.
func (d answeringDisk) Roots(folder string) ([]string, error) {
	return answer(d.diskAnswers, &d.roots, folder, func() ([]string, error) { return d.disk.Repositories.Roots(folder) })
}

// PolicyFiles implements policy.PolicyFiles.
func (d answeringDisk) PolicyFiles(folder string) []string {
	files, _ := answer(d.diskAnswers, &d.policyFiles, folder, func() ([]string, error) { return d.disk.PolicyFiles.PolicyFiles(folder), nil })
	return files
}

func (d answeringDisk) isFile(path string) bool {
	is, _ := answer(d.diskAnswers, &d.files, path, func() (bool, error) { return d.disk.IsFile(path), nil })
	return is
}
