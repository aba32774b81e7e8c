package ask

// Exact is how a command line is read early.
var Exact = exact
