// Command python unpacks the Python and the pip that the Go module go-embed-python contains. Its argument is a folder:
// Python goes into this folder, and pip into the subfolder pip.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/kluctl/go-embed-python/pip"
	"github.com/kluctl/go-embed-python/python"
)

func main() {
	dir := os.Args[1]
	if _, err := python.NewEmbeddedPythonWithTmpDir(dir, false); err != nil {
		log.Fatal(err)
	}
	lib, err := pip.NewPipLib("svc")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "pip"), os.DirFS(lib.GetExtractedPath())); err != nil {
		log.Fatal(err)
	}
	if err := lib.Cleanup(); err != nil {
		log.Fatal(err)
	}
}
