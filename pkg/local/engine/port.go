package engine

import (
	"fmt"
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

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("engine: no free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
