package inject

// SourceOn exports sourceOn.
var SourceOn = sourceOn
