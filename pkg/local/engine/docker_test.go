package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestContainerEnds: what runs in the container ends when its input ends, as it
// does when svc is killed, and at a signal.
func TestContainerEnds(t *testing.T) {
	dir := t.TempDir()
	java := "#!/bin/sh\necho \"java $*\"\nexec sleep 600\n"
	if err := os.WriteFile(filepath.Join(dir, "java"), []byte(java), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, end := range map[string]func(*exec.Cmd, func() error) error{
		"input":  func(_ *exec.Cmd, input func() error) error { return input() },
		"signal": func(cmd *exec.Cmd, _ func() error) error { return cmd.Process.Signal(syscall.SIGTERM) },
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", untilInputEnds, "sh", "-jar", "a jar")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 100)
		n, err := out.Read(said) // java runs
		if got := string(said[:n]); err != nil || got != "java -jar a jar\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := end(cmd, in.Close); err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.Process.Wait(); err != nil { // the test's time limit ends a script that does not end
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImageOfDocker: DynamoDB Local runs from the image that make chose, if Docker
// has it, on a loopback port, with the data folder mounted. Without the image it
// runs from the jars.
func TestImageOfDocker(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module there\n")
	write("bin/dynamodb-local-image", "an/image:1\n")
	write("path/docker", "#!/bin/sh\n[ \"$*\" = 'image inspect an/image:1' ]\n")
	write("path/java", "#!/bin/sh\n")
	if err := os.Mkdir(filepath.Join(root, "bin", "dynamodb-local"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("SVC_ENGINE_PATH", "")
	t.Setenv("PATH", filepath.Join(root, "path"))
	p, err := locate(DynamoDBLocal)
	if err != nil || p.Image != "an/image:1" {
		t.Fatalf("%+v, %v", p, err)
	}
	args := p.contained("127.0.0.1", 4711, "/the/data")
	for _, pair := range [][]string{{"--publish", "127.0.0.1:4711:8000"}, {"--volume", "/the/data:/data"},
		{"-dbPath", "/data"}, {"-cors", "http://127.0.0.1"}} {
		if i := slices.Index(args, pair[0]); i < 0 || args[i+1] != pair[1] {
			t.Errorf("%v is not in %s", pair, strings.Join(args, " "))
		}
	}
	write("bin/dynamodb-local-image", "another/image:1\n")
	if p, err = locate(DynamoDBLocal); err != nil || p.Image != "" || p.Java == "" {
		t.Errorf("without the image: %+v, %v", p, err)
	}
}
