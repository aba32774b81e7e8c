package redact

import "strings"

// shortest is how long a value has to be to be taken for a secret wherever it stands. What
// is shorter would be found in ordinary words.
const shortest = 8

// Environ are the values of those variables whose names say that they are secrets. Paths
// are none.
func Environ(environ []string) []string {
	var all []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if len(value) >= shortest && secretName(name) && !strings.HasPrefix(value, "/") {
			all = append(all, value)
		}
	}
	return all
}
