package engine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// reservePort finds a free loopback port and keeps other processes that start
// engines at the same moment (test packages run in parallel) from picking it
// until release is called. By then the engine listens on it.
func reservePort() (port int, release func(), err error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("svc-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, nil, fmt.Errorf("engine: port locks: %w", err)
	}
	for range 100 {
		port, err := freePort()
		if err != nil {
			return 0, nil, err
		}
		// Some ports share a lock; then one of them is just not picked now.
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(port%256)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return 0, nil, fmt.Errorf("engine: port locks: %w", err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return port, func() { _ = f.Close() }, nil
		}
		_ = f.Close()
	}
	return 0, nil, fmt.Errorf("engine: no free port after 100 tries")
}

// freePort finds a port that is free now, below those that systems give to
// whoever asks for any: nobody else is given it before the engine listens.
func freePort() (port int, err error) {
	for range 100 {
		port = 16384 + rand.IntN(16384) //nolint:gosec // a port is no secret
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("engine: no free port: %w", err)
}
