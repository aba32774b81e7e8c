package release

// ProbeKeys returns the keys of config.toml.
var ProbeKeys = probeKeys

// ReadPart reads a part within its time.
var ReadPart = (*Release).readPart
