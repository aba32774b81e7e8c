package store

// Machine is how a machine is known.
var Machine = machine
