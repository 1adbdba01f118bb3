package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"svc/pkg/base/config"
)

// program is an installed engine program.
type program struct {
	Kind string
	// Path is dynoxide's binary, or the folder of DynamoDB Local's jars.
	Path string
	// Java, or the Docker program if Image is given, runs DynamoDB Local.
	Java, Docker, Image string
}

// Installed returns an error that says what to do if no engine is installed.
func Installed() error {
	_, err := locate(config.Read(os.Getenv).Engine)
	return err
}

// locate finds the program of the given kind. Without a kind it prefers
// dynoxide, and uses DynamoDB Local only if dynoxide is missing and has no build
// for this machine.
func locate(kind string) (program, error) {
	switch kind {
	case Dynoxide:
		return locateDynoxide()
	case DynamoDBLocal:
		return locateDynamoDBLocal()
	case "":
		p, err := locateDynoxide()
		if err == nil || hasDynoxide {
			return p, err
		}
		return locateDynamoDBLocal()
	}
	return program{}, fmt.Errorf("engine: SVC_ENGINE is %q, but must be %q or %q", kind, Dynoxide, DynamoDBLocal)
}

// hasDynoxide reports whether package.json lists a build for this machine.
const hasDynoxide = runtime.GOOS == "linux" && runtime.GOARCH == "amd64"

// locateDynoxide finds the program of dynoxide. The error says what to do if it is missing.
func locateDynoxide() (program, error) {
	path, err := find("dynoxide", func(fi os.FileInfo) bool { return fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 })
	if err != nil {
		if !hasDynoxide {
			return program{},
				fmt.Errorf("engine: dynoxide has no build for %s/%s; run `make dynamodb-local` and set SVC_ENGINE=%s",
					runtime.GOOS, runtime.GOARCH, DynamoDBLocal)
		}
		return program{}, fmt.Errorf("engine: dynoxide is missing (%w); run `make build`, which fetches it with npm", err)
	}
	return program{Kind: Dynoxide, Path: path}, nil
}

// locateDynamoDBLocal finds DynamoDB Local: the image that `make build` chose for Docker,
// or the jars if Docker does not have the image or does not run.
func locateDynamoDBLocal() (program, error) {
	if file, err := find("dynamodb-local-image", func(fi os.FileInfo) bool { return fi.Mode().IsRegular() }); err == nil {
		name, err := os.ReadFile(file)
		if err != nil {
			return program{}, fmt.Errorf("engine: %w", err)
		}
		image := strings.TrimSpace(string(name))
		docker, err := exec.LookPath("docker")
		if err == nil && exec.Command(docker, "image", "inspect", image).Run() == nil { //nolint:gosec,noctx // short
			return program{Kind: DynamoDBLocal, Docker: docker, Image: image}, nil
		}
	}
	path, err := find("dynamodb-local", os.FileInfo.IsDir)
	if err != nil {
		return program{},
			fmt.Errorf("engine: DynamoDB Local is missing (%w); run `make dynamodb-local`, which fetches it with Maven, or "+
				"start Docker and run `make build`", err)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return program{},
			errors.New("engine: DynamoDB Local needs java 17 or later on the PATH; install it (Debian: apt-get install " +
				"openjdk-17-jre-headless)")
	}
	return program{Kind: DynamoDBLocal, Path: path, Java: java}, nil
}

// find returns the path of the file or folder called name. It is the first of these paths
// that exists and that good accepts: $SVC_ENGINE_PATH, the name in the folder of this
// program, the name in the bin folder of the repository with the working directory.
func find(name string, good func(os.FileInfo) bool) (string, error) {
	var places []string
	if path := config.Read(os.Getenv).EnginePath; path != "" {
		places = append(places, path)
	}
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		places = append(places, filepath.Join(filepath.Dir(self), name))
	}
	if root := Repository(); root != "" {
		places = append(places, filepath.Join(root, "bin", name))
	}
	for _, place := range places {
		if fi, err := os.Stat(place); err == nil && good(fi) {
			return place, nil
		}
	}
	return "", fmt.Errorf("no %s at $SVC_ENGINE_PATH, beside this program or in bin", name)
}

// Repository returns the folder with go.mod at or above the working directory,
// "" if there is none.
func Repository() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// command returns the command that runs the engine on a loopback port. The
// data is in a file (dynoxide) or folder (DynamoDB Local), or in memory if
// data is empty.
func (p program) command(host string, port int, data string) *exec.Cmd {
	path, args := p.Path, []string{"--host", host, "--port", strconv.Itoa(port)}
	switch {
	case p.Image != "":
		path, args = p.Docker, p.contained(host, port, data)
	case p.Kind == DynamoDBLocal:
		path, args = p.Java, p.java(port, data)
	case data != "":
		args = append(args, "--db-path", data)
	}
	return exec.Command(path, args...) //nolint:gosec,noctx // it outlives the start
}

// java returns Java's arguments. Without -sharedDb, each access key id has a
// database of its own.
func (p program) java(port int, data string) (args []string) {
	args = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"}
	if p.Image == "" {
		args = append(args, "-Djava.library.path="+p.Path, "-cp", filepath.Join(p.Path, "*"),
			"software.amazon.dynamodb.services.local.main.ServerRunner", "-port", strconv.Itoa(port))
	} else {
		args = append(args, "-Djava.library.path=DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar")
	}
	args = append(args, "-disableTelemetry",
		"-cors", "http://127.0.0.1") // no page has this origin; the default allows all
	switch {
	case data == "":
		args = append(args, "-inMemory")
	case p.Image == "":
		args = append(args, "-dbPath", data)
	default:
		args = append(args, "-dbPath", "/data")
	}
	return args
}

// untilInputEnds runs java in a container until it gets a signal or the end of its
// standard input. The input ends when the process that started the container ends,
// for any reason.
const untilInputEnds = `exec 3<&0; java "$@" </dev/null & java=$!; trap 'kill $java' TERM INT
(cat <&3 >/dev/null; kill $java) & wait $java; wait $java`

// contained returns the arguments of docker that run java with the program's arguments
// in a container. The container runs as root, because the image's own user may not
// write in the data folder.
func (p program) contained(host string, port int, data string) []string {
	args := []string{"run", "--rm", "--interactive", "--user", "0", "--entrypoint", "/bin/sh",
		"--publish", net.JoinHostPort(host, strconv.Itoa(port)) + ":8000"}
	if data != "" {
		args = append(args, "--volume", data+":/data")
	}
	return append(append(args, p.Image, "-c", untilInputEnds, "sh"), p.java(port, data)...)
}
