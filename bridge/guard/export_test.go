package guard

// GitDir is gitDir.
var GitDir = gitDir

// Roots is what codex takes for the project of a folder, on this machine.
func Roots(folder string) ([]string, error) { return filesystem{}.Roots(folder) }
