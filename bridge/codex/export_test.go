package codex

// EnvironOn is Environ on another system.
var EnvironOn = environ
