package main

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

	"svc/pkg/local/folder"
	"svc/pkg/oauth/flow"
)

// readPassword reads a password: from a terminal without echo, else from the
// first line of standard input.
func (c *cli) readPassword(ctx context.Context) (string, error) {
	if isTerminal(c.stdin) {
		fmt.Fprint(c.err, "Password: ")
		if c.echo(ctx, false) == nil {
			defer func() {
				_ = c.echo(context.WithoutCancel(ctx), true)
				fmt.Fprintln(c.err)
			}()
		}
	}
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		if err != nil && err != io.EOF {
			return "", fmt.Errorf("password: %w", err)
		}
		return "", usagef("the password is empty: give --password, type a password, or send one to standard input")
	}
	return line, nil
}

// echo switches the terminal's echo.
func (c *cli) echo(ctx context.Context, on bool) error {
	stty := exec.CommandContext(ctx, "stty", map[bool]string{true: "echo", false: "-echo"}[on])
	stty.Stdin = c.stdin
	return stty.Run()
}

// clientFile returns the path of the file with the client ids that `svc token
// get` uses, one for each service and audience. For a local service the file is in
// the data folder; else clientFile creates its folder in the user's cache.
func (p platform) clientFile() (string, error) {
	if p.data != "" {
		return filepath.Join(p.data, "clients.json"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "svc")
	return filepath.Join(dir, "clients.json"), os.MkdirAll(dir, 0o700)
}

// client returns the client id for a service and audience. If the file has none
// or cannot be read, or if that client cannot be read or is disabled, it registers
// a client. If the file cannot be written, the next call registers another one.
func (p platform) client(ctx context.Context, o flow.Options) (string, error) {
	clients, name := map[string]string{}, o.BaseURL+" "+o.Audience
	file, fileErr := p.clientFile()
	if fileErr == nil {
		if text, err := os.ReadFile(file); err == nil {
			_ = json.Unmarshal(text, &clients)
		}
	}
	if id := clients[name]; id != "" {
		if kept, err := p.authorizationServer().ShowClient(ctx, id); err == nil && !kept.Disabled {
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
