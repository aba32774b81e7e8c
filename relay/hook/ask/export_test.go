package ask

// ParseExact parses the command line for init.
var ParseExact = parseExact
