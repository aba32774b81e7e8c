package argv

// FlagsIn parses a table of flags, and returns a function for the rule of a flag of a command.
func FlagsIn(text string) (rule func(command, name string) string, err error) {
	table, err := parseFlags(text)
	return func(command, name string) string {
		if item := parseFlag(table[command], []string{name, "x"}, 0); item.Flag != nil {
			return item.Flag.Rule
		}
		return "unknown"
	}, err
}
