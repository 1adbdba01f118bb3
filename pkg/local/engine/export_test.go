package engine

import (
	"fmt"
	"os/exec"
)

// Expose makes Start work as on a system without network namespaces.
func (o *Options) Expose() { o.exposed = true }

// Shared is DynamoDB Local as older builds started it.
func Shared(port int, data string) (*exec.Cmd, error) {
	p, err := locate(DynamoDBLocal)
	if err != nil {
		return nil, fmt.Errorf("shared: %w", err)
	}
	return exec.Command(p.Java, append(p.java(port, data), "-sharedDb")...), nil
}
