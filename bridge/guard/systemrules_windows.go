package guard

import (
	"os"
	"path/filepath"
)

// systemRules are the folders of the machine's own rules for commands.
var systemRules = []string{filepath.Join(os.Getenv("ProgramData"), "OpenAI", "Codex", "rules")}
