package engine

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate gives the child a network namespace of its own. No other process of the
// machine can connect to an engine there. A user who may not make one first needs
// a user namespace, in which all ids stay as they are.
func isolate(cmd *exec.Cmd) {
	attr := cmd.SysProcAttr
	attr.Cloneflags |= syscall.CLONE_NEWNET
	if os.Geteuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
}

// canIsolate reports whether the system has network namespaces.
const canIsolate = true

// raiseLoopback switches on the loopback device of a new network namespace.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("engine: loopback device: %w", err)
	}
	defer unix.Close(socket)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("engine: loopback device: %w", err)
	}
	device.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, device); err != nil {
		return fmt.Errorf("engine: loopback device: %w", err)
	}
	return nil
}

// self is this program, also after its file was replaced.
func self() string { return "/proc/self/exe" }
