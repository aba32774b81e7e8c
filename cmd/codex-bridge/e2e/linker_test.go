//go:build linux

package e2e_test

import (
	"debug/elf"
	"slices"
	"testing"
)

// The linker removes methods that are not called. It keeps all exported ones as soon as any function looks
// for methods by a name that is not constant, as text/template does: the program is an eighth larger then.
func TestLinkerRemovesUnusedMethods(t *testing.T) {
	program, err := elf.Open(proxyPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	symbols, err := program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
	}
	if !has("main.main") {
		t.Fatal("the symbols are not known")
	}
	if has("reflect.(*rtype).Methods") || has("reflect.Value.Methods") { // no package calls them
		t.Error("all exported methods are kept; go build -ldflags=-dumpdep ./cmd/codex-bridge 2>&1 | grep ReflectMethod names the callers")
	}
}
