// Measures prints numbers of the structure: lines of code, packages, modules, calls that run upward within a package,
// complexity, and fields of structs. Arguments are further programs whose closure is counted.
//
// A line of code is one with more than comments.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "codex-bridge.example"

func main() {
	program := load("./cmd/codex-bridge")
	fmt.Println("cmd/codex-bridge")
	printClosure(program)
	for _, path := range os.Args[1:] {
		fmt.Println(strings.TrimPrefix(path, "./"))
		printClosure(load(path))
	}
	printPackages(program)
	printFunctions(program)
	printStructs(program)
}

// load returns the packages that a program links.
func load(path string) []*packages.Package {
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	roots, err := packages.Load(&packages.Config{Mode: mode}, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var all []*packages.Package
	packages.Visit(roots, nil, func(p *packages.Package) { all = append(all, p) })
	return all
}

func isOwn(p *packages.Package) bool { return strings.HasPrefix(p.PkgPath, module+"/") }

func nameOf(p *packages.Package) string { return strings.TrimPrefix(p.PkgPath, module+"/") }

func printClosure(closure []*packages.Package) {
	lines, own, modules := 0, 0, make(map[string]bool)
	for _, p := range closure {
		if isOwn(p) {
			own++
			lines += linesOf(p)
		} else if p.Module != nil {
			modules[p.Module.Path] = true
		}
	}
	fmt.Printf("  lines of code %d, own packages %d, modules of others %d\n", lines, own, len(modules))
}

// linesOf counts lines that have something but comments.
func linesOf(p *packages.Package) (n int) {
	for _, file := range p.CompiledGoFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		set := token.NewFileSet()
		f := set.AddFile(file, -1, len(text))
		var s scanner.Scanner
		s.Init(f, text, nil, 0)
		with := make(map[int]bool)
		for {
			pos, tok, literal := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok == token.SEMICOLON && literal == "\n" {
				continue
			}
			first := f.Line(pos)
			for line := first; line <= first+strings.Count(literal, "\n"); line++ {
				with[line] = true
			}
		}
		n += len(with)
	}
	return n
}

func printPackages(closure []*packages.Package) {
	fmt.Println("packages: lines of code; calls between files, and how many of them run upward")
	type row struct {
		name                 string
		lines, calls, upward int
	}
	var rows []row
	for _, p := range closure {
		if isOwn(p) {
			calls, upward := callsBetweenFiles(p)
			rows = append(rows, row{nameOf(p), linesOf(p), calls, upward})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.lines, a.lines) })
	for _, r := range rows {
		fmt.Printf("  %6d %5d %4d  %s\n", r.lines, r.calls, r.upward, r.name)
	}
}

// callsBetweenFiles counts the pairs of a function and one that it calls in another file of the package. The files
// are put in the order with the fewest calls from a file to one above it that a search finds; these are upward.
func callsBetweenFiles(p *packages.Package) (calls, upward int) {
	weights := make(map[[2]string]int)
	seen := make(map[[2]types.Object]bool)
	files := make(map[string]bool)
	fileOf := func(pos token.Pos) string { return filepath.Base(p.Fset.Position(pos).Filename) }
	for _, file := range p.Syntax {
		files[fileOf(file.Package)] = true
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			caller := p.TypesInfo.Defs[f.Name]
			ast.Inspect(f.Body, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				callee, ok := p.TypesInfo.Uses[id].(*types.Func)
				if !ok || callee.Pkg() != p.Types || seen[[2]types.Object{caller, callee}] {
					return true
				}
				seen[[2]types.Object{caller, callee}] = true
				if from, to := fileOf(f.Pos()), fileOf(callee.Pos()); from != to {
					weights[[2]string{from, to}]++
					calls++
				}
				return true
			})
		}
	}
	return calls, fewestUpward(slices.Sorted(maps.Keys(files)), weights)
}

// fewestUpward searches for an order of the files with the fewest calls from a later file to an earlier one. It
// moves single files until no move helps.
func fewestUpward(order []string, weights map[[2]string]int) int {
	net := func(file string) (n int) { // calls out of it less calls into it
		for pair, weight := range weights {
			if pair[0] == file {
				n += weight
			} else if pair[1] == file {
				n -= weight
			}
		}
		return n
	}
	nets := make(map[string]int)
	for _, file := range order {
		nets[file] = net(file)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(nets[b], nets[a]) })
	for improved := true; improved; {
		improved = false
		for i := range order {
			file := order[i]
			best, bestAt, gain := 0, i, 0
			for j := i - 1; j >= 0; j-- { // above order[j]
				gain += weights[[2]string{file, order[j]}] - weights[[2]string{order[j], file}]
				if gain > best {
					best, bestAt = gain, j
				}
			}
			gain = 0
			for j := i + 1; j < len(order); j++ { // below order[j]
				gain += weights[[2]string{order[j], file}] - weights[[2]string{file, order[j]}]
				if gain > best {
					best, bestAt = gain, j
				}
			}
			if best > 0 {
				order = slices.Insert(slices.Delete(order, i, i+1), bestAt, file)
				improved = true
			}
		}
	}
	at := make(map[string]int)
	for i, file := range order {
		at[file] = i
	}
	upward := 0
	for pair, weight := range weights {
		if at[pair[0]] > at[pair[1]] {
			upward += weight
		}
	}
	return upward
}

func printFunctions(closure []*packages.Package) {
	var over []string
	for _, p := range closure {
		if !isOwn(p) {
			continue
		}
		for _, file := range p.Syntax {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && complexity(f) > 20 {
					over = append(over, fmt.Sprintf("%3d %s %s", complexity(f), nameOf(p), f.Name.Name))
				}
			}
		}
	}
	slices.Sort(over)
	slices.Reverse(over)
	fmt.Printf("functions with a complexity over 20: %d\n", len(over))
	for _, one := range over {
		fmt.Println("  " + one)
	}
}

// complexity is the cyclomatic complexity as gocyclo counts it.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func printStructs(closure []*packages.Package) {
	var over []string
	for _, p := range closure {
		if !isOwn(p) {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			if one, ok := p.Types.Scope().Lookup(name).(*types.TypeName); ok && !one.IsAlias() {
				if s, ok := one.Type().Underlying().(*types.Struct); ok && s.NumFields() > 15 {
					over = append(over, fmt.Sprintf("%3d %s.%s", s.NumFields(), nameOf(p), name))
				}
			}
		}
	}
	slices.Sort(over)
	slices.Reverse(over)
	fmt.Printf("structs with more than 15 fields: %d\n", len(over))
	for _, one := range over {
		fmt.Println("  " + one)
	}
}
