package rollout

import "os"

// Size is how large the file of a thread is, in bytes.
func Size(codexHome, id string) (int64, error) {
	path, err := findFile(codexHome, id)
	if err != nil {
		return 0, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errForeign
	}
	return info.Size(), nil
}
