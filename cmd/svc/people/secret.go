package people

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"svc/cmd/svc/cli"
	"svc/pkg/local/folder"
	"svc/pkg/oauth/flow"
)

// readPassword reads a password: from a terminal without echo, else from the
// first line of standard input.
func readPassword(ctx context.Context, c *cli.CLI) (string, error) {
	if cli.IsTerminal(c.Stdin) {
		fmt.Fprint(c.Err, "Password: ")
		if echo(ctx, c, false) == nil {
			defer func() {
				_ = echo(context.WithoutCancel(ctx), c, true)
				fmt.Fprintln(c.Err)
			}()
		}
	}
	line, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		if err != nil && err != io.EOF {
			return "", fmt.Errorf("password: %w", err)
		}
		return "", cli.Usagef("the password is empty: give --password, type a password, or send one to standard input")
	}
	return line, nil
}

// echo switches on or off that the terminal shows what is typed.
func echo(ctx context.Context, c *cli.CLI, on bool) error {
	stty := exec.CommandContext(ctx, "stty", map[bool]string{true: "echo", false: "-echo"}[on])
	stty.Stdin = c.Stdin
	return stty.Run()
}

// clientFile returns the path of the file with the client ids that `svc token get` uses,
// one for each service and audience. For a local service the file is in the data folder.
// Else it is in a folder in the user's cache, which clientFile creates.
func clientFile(p cli.Platform) (string, error) {
	if p.Data != "" {
		return filepath.Join(p.Data, "clients.json"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "svc")
	return filepath.Join(dir, "clients.json"), os.MkdirAll(dir, 0o700)
}

// client returns the id of the OAuth client for the service and the audience in o, from
// the file of clientFile. If the file has none or cannot be read, or if that client
// cannot be read or is disabled, it registers a client and stores its id. If the file
// cannot be written, the next call registers another client.
func client(ctx context.Context, p cli.Platform, o flow.Options) (string, error) {
	clients, name := map[string]string{}, o.BaseURL+" "+o.Audience
	file, fileErr := clientFile(p)
	if fileErr == nil {
		if text, err := os.ReadFile(file); err == nil {
			_ = json.Unmarshal(text, &clients)
		}
	}
	if id := clients[name]; id != "" {
		if kept, err := p.AuthorizationServer().ShowClient(ctx, id); err == nil && !kept.Disabled {
			return id, nil
		}
	}
	o.Scope = "" // every scope, so that the client serves the next command too
	made, err := flow.Register(ctx, o)
	if err != nil {
		return "", err
	}
	clients = maps.Clone(clients)
	clients[name] = made.ID
	if text, err := json.Marshal(clients); err == nil && fileErr == nil {
		_ = folder.ReplaceFile(file, text)
	}
	return made.ID, nil
}
