package engine

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// reservePort finds a free port on a loopback address. Until release is called,
// other processes of this user that start engines (test packages run in
// parallel) cannot pick it. The engine must listen on it before release.
func reservePort(host string) (port int, release func(), err error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("svc-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, nil, fmt.Errorf("engine: port locks: %w", err)
	}
	for range 100 {
		port, err := freePort(host)
		if err != nil {
			return 0, nil, err
		}
		// Several ports share a lock. The loop skips a port whose lock is held.
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

// freePort finds a free port of the host below the ephemeral range, so that the system
// does not assign it to another process before the engine listens.
func freePort(host string) (port int, err error) {
	for range 100 {
		port = 16384 + rand.IntN(16384) //nolint:gosec // a port is no secret
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("engine: no free port: %w", err)
}

// loopback picks the address at which an engine of this kind listens. For dynoxide on
// Linux, where all of 127.0.0.0/8 is loopback, it picks one that no web page can guess.
func loopback(kind string) string {
	if kind != Dynoxide || runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	var b [3]byte
	_, _ = crand.Read(b[:]) // rand.Read never fails
	return net.IPv4(127, 1+b[0]%254, b[1], 1+b[2]%254).String()
}
