package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMemoryLeavesNothing: an engine without a data folder has its files in
// memory, and no name leads to them. So nothing stays when the engine or its
// parent is killed.
func TestMemoryLeavesNothing(t *testing.T) {
	if _, err := locateDynoxide(); err != nil && !hasDynoxide {
		t.Skip("DynamoDB Local keeps its data itself")
	}
	e, err := Start(t.Context(), Options{Kind: Dynoxide, Memory: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", e.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.Contains(to, scratchPrefix) {
			files = append(files, to)
		}
	}
	if !isMemory(memoryRoot, minFree) {
		if len(files) > 0 {
			t.Errorf("without %s the engine has files: %q", memoryRoot, files)
		}
		return
	}
	if len(files) == 0 {
		t.Errorf("the engine has no file in %s", memoryRoot)
	}
	for _, file := range files {
		path, deleted := strings.CutSuffix(file, " (deleted)")
		if _, err := os.Lstat(filepath.Dir(path)); !deleted || !os.IsNotExist(err) {
			t.Errorf("%s would stay after the engine's end: %v", file, err)
		}
	}
}

// TestStaleMemoryIsRemoved: the next engine removes the folder of a process that
// was killed while it started an engine, and nothing else.
func TestStaleMemoryIsRemoved(t *testing.T) {
	root := t.TempDir()
	stays := map[string]bool{scratchPrefix + "old": false, scratchPrefix + "new": true, "else": true}
	for name := range stays {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := create(filepath.Join(dir, "dynoxide.db")); err != nil {
			t.Fatal(err)
		}
		if name != scratchPrefix+"new" {
			old := time.Now().Add(-staleAfter - time.Minute)
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeStale(root)
	for name, want := range stays {
		if _, err := os.Lstat(filepath.Join(root, name)); want != (err == nil) {
			t.Errorf("%s: %v, but it should stay: %v", name, err, want)
		}
	}
}

// TestWithoutMemoryFolder: dynoxide keeps its data itself where no folder is in
// memory, or where it has too little space.
func TestWithoutMemoryFolder(t *testing.T) {
	for _, root := range []string{"", filepath.Join(t.TempDir(), "missing"), "/proc"} {
		if file, _ := memoryFile(root); file != "" {
			t.Errorf("in %q: %s", root, file)
		}
	}
	if isMemory(memoryRoot, 1<<63) {
		t.Errorf("%s has 8 EiB of free space", memoryRoot)
	}
}
