package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the name of this module, and maxLines the longest a file may be that is no test.
const (
	module   = "parley"
	maxLines = 500
)

// listed is what `go list -json` says about a package, as far as it is asked here.
type listed struct {
	ImportPath   string
	Name         string
	Dir          string
	Module       struct{ Dir string }
	GoFiles      []string
	IgnoredFiles []string `json:"IgnoredGoFiles"` // of other systems
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// packages lists the module's packages.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Module,GoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// under says whether a package is one of some trees, which are named from the module's root.
func under(path string, trees ...string) bool {
	for _, tree := range trees {
		if path == module+"/"+tree || strings.HasPrefix(path, module+"/"+tree+"/") {
			return true
		}
	}
	return false
}

// arrow is one rule about the direction of imports.
type arrow struct {
	from   []string // trees that it is about; none: all
	except []string // trees among them that it is not about
	only   []string // the only trees of this module that they may import; nil: no such limit
	never  []string // trees that they may not import
	why    string
}

var engines = []string{"persistence/bolt", "persistence/redis"}

var arrows = []arrow{
	{from: []string{"persistence"}, only: []string{"persistence"}, why: "the store knows nothing of what is kept in it"},
	{from: []string{"sandbox"}, only: []string{"sandbox"}, why: "what runs other people's code knows nothing of this program"},
	{from: []string{"actors"}, only: []string{"actors", "persistence", "sandbox"}, why: "the domain does not know how it is reached"},
	{from: []string{"actors", "transport"}, except: []string{"actors/actortest"}, never: engines, why: "which engine keeps the data is chosen in cmd alone"},
	{from: []string{"transport"}, never: []string{"config", "cmd"}, why: "a transport is told its options"},
	{except: []string{"cmd", "config"}, never: []string{"config"}, why: "only cmd knows the configuration"},
	{except: []string{"cmd"}, never: []string{"cmd"}, why: "nothing is above cmd"},
	{
		from:  []string{"transport/realtime/conn", "transport/realtime/engineio", "transport/realtime/socketio", "transport/realtime/plain"},
		never: []string{"actors"}, why: "the wire formats carry any domain",
	},
}

// wrong says whether the arrow forbids an import.
func (a *arrow) wrong(from, to string) bool {
	if (len(a.from) > 0 && !under(from, a.from...)) || under(from, a.except...) || !strings.HasPrefix(to, module+"/") {
		return false
	}
	return under(to, a.never...) || (a.only != nil && !under(to, a.only...))
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		for _, to := range p.Imports {
			for _, a := range arrows {
				if a.wrong(p.ImportPath, to) {
					t.Errorf("%s imports %s, which points the wrong way: %s", p.ImportPath, to, a.why)
				}
			}
		}
	}
}

// TestArrows holds the rules against imports that they are there for.
func TestArrows(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		wrong    bool
	}{
		{"persistence/bolt", "persistence", false}, {"persistence", "actors/kernel", true}, {"persistence", "config", true},
		{"sandbox", "persistence", true}, {"sandbox", "sandbox/worker", false},
		{"actors/agency", "persistence", false}, {"actors/agency", "sandbox", false}, {"actors/agency", "transport/rest", true},
		{"actors/agency", "persistence/bolt", true}, {"actors/agency", "actors/kernel", false},
		{"transport/rest", "actors/platform", false}, {"transport/rest", "persistence/redis", true}, {"transport/rest", "config", true},
		{"transport/rest", "cmd/parley/archive", true}, {"transport/realtime/plain", "actors/platform", true},
		{"transport/realtime/conn/deep", "actors", true}, {"transport/realtime", "actors/platform", false},
		{"cmd/parley", "config", false}, {"cmd/parley", "persistence/bolt", false}, {"e2e", "config", true}, {"configuration", "config", true},
	} {
		got := slices.ContainsFunc(arrows, func(a arrow) bool { return a.wrong(module+"/"+tc.from, module+"/"+tc.to) })
		if got != tc.wrong {
			t.Errorf("%s → %s: forbidden %v, want %v", tc.from, tc.to, got, tc.wrong)
		}
	}
}

func TestFilesAreShortAndPackagesHaveNames(t *testing.T) {
	for _, p := range packages(t) {
		for part := range strings.SplitSeq(p.ImportPath+"/"+p.Name, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, part) {
				t.Errorf("%s: a package called %s says nothing about what is in it", p.ImportPath, part)
			}
		}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > maxLines {
				t.Errorf("%s/%s has %d lines; more than %d are more than one thing", p.ImportPath, name, n, maxLines)
			}
		}
	}
}

// TestDependenciesAreExplained: every module that a package of this one imports has a row in docs/dependencies.md, with
// the version in use.
func TestDependenciesAreExplained(t *testing.T) {
	all := packages(t)
	root := all[0].Module.Dir
	page, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	required := requirements(t, root)
	used := map[string]bool{}
	for _, p := range all {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
				continue // the standard library, or this module
			}
			used[owner(path, required)] = true
		}
	}
	if len(used) == 0 {
		t.Fatal("found no dependency, which can't be")
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `") {
			rows[name] = rest
		}
	}
	for name := range used {
		row, ok := rows[name]
		if !ok {
			t.Errorf("docs/dependencies.md does not say why there is %s", name)
		} else if !strings.Contains(row, required[name]) {
			t.Errorf("docs/dependencies.md is about another version of %s than %s", name, required[name])
		}
	}
	for name := range rows {
		if !used[name] && required[name] != "" {
			t.Errorf("docs/dependencies.md explains %s, which nothing imports", name)
		}
	}
}

// requirements reads the modules of go.mod with their versions.
func requirements(t *testing.T, root string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".") {
			out[fields[0]] = fields[1]
		}
	}
	return out
}

// owner is the module with the longest name that a package is in.
func owner(path string, modules map[string]string) string {
	for name := path; name != "."; name = filepath.ToSlash(filepath.Dir(name)) {
		if _, ok := modules[name]; ok {
			return name
		}
	}
	return path
}
