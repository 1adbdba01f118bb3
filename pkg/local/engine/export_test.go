package engine

import (
	"fmt"
	"os/exec"
)

// Own returns the address of the engine behind the door.
func (e *Engine) Own() string { return e.own.String() }

// Shared is DynamoDB Local as older builds started it.
func Shared(port int, data string) (*exec.Cmd, error) {
	p, err := locate(DynamoDBLocal)
	if err != nil {
		return nil, fmt.Errorf("shared: %w", err)
	}
	return exec.Command(p.Java, append(p.java(port, data), "-sharedDb")...), nil
}
