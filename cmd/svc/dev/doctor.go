package dev

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/local/engine"
	"svc/pkg/local/folder"
)

// tool is a program that some work on the service needs. It is installed if one of its
// names is on the PATH. chromium also counts as installed if the variable CHROME is set.
type tool struct {
	names []string
	need  string // the work that needs the program, such as "run" (svc dev) or "deploy"
	get   string // how to install the program
}

// tools has the programs that svc doctor looks for.
var tools = []tool{
	{[]string{"go"}, "run", "https://go.dev/dl, the version that go.mod names"},
	{[]string{"make"}, "run", "apt-get install make"},
	{[]string{"npm"}, "run", "apt-get install npm, or https://nodejs.org; Node.js 20 or later"},
	{[]string{"curl"}, "first call", "apt-get install curl"},
	{[]string{"openssl"}, "first call", "apt-get install openssl"},
	{[]string{"gcc", "cc", "clang"}, "make test-race", "apt-get install gcc libc6-dev"},
	{[]string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}, "make test",
		"make test fetches one for Linux x64; elsewhere install one, or set CHROME to the path of one"},
	{[]string{"java"}, "make short-dynamodb-local", "apt-get install openjdk-17-jre-headless, or any Java 17"},
	{[]string{"mvn"}, "make short-dynamodb-local", "apt-get install maven"},
	{[]string{"sam"}, "deploy", "pip install aws-sam-cli"},
	{[]string{"aws"}, "deploy", "https://aws.amazon.com/cli"},
	{[]string{"docker"}, "make localstack", "https://docs.docker.com/engine/install"},
}

// finding is the result of one check of svc doctor.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Need  string `json:"neededTo"`
	Get   string `json:"do,omitempty"`
}

// doctorCommand returns the command svc doctor, which shows what is missing on this
// machine.
func doctorCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Show what is missing on this machine, and how to get it",
		Long: "Check the programs that running, testing and deploying need, and the database engine. If no service runs\n" +
			"on the data folder, also check that port 8080 is free. The exit code is 1 if a failed check has the value\n" +
			"run in the column NEEDED-TO.",
		Example: "  svc doctor",
		RunE: cli.Act(func(ctx context.Context, _ []string) error {
			found := examine(ctx, c)
			t := cli.Table{Head: "CHECK OK NEEDED-TO WHAT-TO-DO"}
			ok := true
			for _, f := range found {
				t.Add(f.Check, f.OK, f.Need, f.Get)
				ok = ok && (f.OK || f.Need != "run")
			}
			if err := c.Show(found, t); err != nil || ok {
				return err
			}
			return errors.New("the service cannot run on this machine yet; see the failed checks")
		})}
}

// examine runs every check of svc doctor: the programs, the engine, and the service or
// its port.
func examine(ctx context.Context, c *cli.CLI) (found []finding) {
	for _, t := range tools {
		f := finding{Check: t.names[0], Need: t.need, Get: t.get}
		f.OK = slices.ContainsFunc(t.names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
		if t.names[0] == "chromium" && c.Env.Browser != "" {
			f.OK = true
		}
		found = append(found, f)
	}
	f := finding{Check: "database engine", Need: "run", Get: "make build"}
	f.OK = engine.Installed() == nil
	found = append(found, f)
	if _, err := folder.Find(ctx, c.Data); err == nil {
		found = append(found, finding{"service on " + c.Data, true, "run", ""})
	} else {
		port := "127.0.0.1:" + strconv.Itoa(defaultPort)
		f := finding{Check: "port " + strconv.Itoa(defaultPort), Need: "run",
			Get: "svc dev --port 0, or stop the program that uses the port"}
		if l, err := net.Listen("tcp", port); err == nil {
			f.OK = l.Close() == nil
		}
		found = append(found, f)
	}
	for i := range found {
		if found[i].OK {
			found[i].Get = ""
		}
	}
	return found
}
