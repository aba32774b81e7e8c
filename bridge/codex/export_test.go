package codex

// EnvironOn is Environ on another system.
var EnvironOn = environ

// The decisions of Windows, which other systems can try.
var (
	CheckArgsOn  = checkArgs
	NPMProgram   = npmProgram
	ProgramNames = programNames
)

// ProbeKeys returns the keys of config.toml.
var ProbeKeys = probeKeys

// ReadPart reads a part within its time.
var ReadPart = (*Release).readPart
