package codex

// EnvironOn is Environ as on another system.
var EnvironOn = environ
