package codex

// EnvironOn is Environ on another system.
var EnvironOn = environ

// The decisions of Windows, which other systems can try.
var (
	CheckArgsOn  = checkArgs
	NPMProgram   = npmProgram
	ProgramNames = programNames
)
