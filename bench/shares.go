package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Lambda gives a function one processor for each 1,769 MB of memory, in periods
// of 20 ms.
const (
	wholeCPU = 1769   // megabytes
	period   = 20_000 // microseconds
)

// shareOf returns the processors that a function of so many megabytes gets.
func shareOf(megabytes int) float64 { return float64(megabytes) / wholeCPU }

// shares are groups of processes that the kernel limits to a share of a processor,
// and the group of this process, which has no limit.
type shares struct {
	dir    string // of the wrappers
	groups []string
}

// controller returns the folder in which groups are created. second reports
// whether the folder belongs to cgroup v2.
func controller() (root string, second bool, err error) {
	if _, err := os.Stat("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); err == nil {
		return "/sys/fs/cgroup/cpu", false, nil
	}
	text, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	if err != nil || !strings.Contains(string(text), "cpu") {
		return "", false, errors.New("this machine has no cgroup with a processor controller")
	}
	return "/sys/fs/cgroup", true, nil
}

// group creates a group that has priority over other work of the machine. quota is
// its processor time in a period, in microseconds; 0 means no quota.
func (s *shares) group(name string, quota int) (string, error) {
	root, second, err := controller()
	if err != nil {
		return "", err
	}
	group := filepath.Join(root, fmt.Sprintf("svc-bench-%d-%s", os.Getpid(), name))
	if err := os.Mkdir(group, 0o755); err != nil { //nolint:gosec // as the kernel makes its own
		return "", fmt.Errorf("a processor share needs root: %w", err)
	}
	s.groups = append(s.groups, group)
	settings := [][2]string{{"cpu.shares", "262144"}, {"cpu.cfs_period_us", strconv.Itoa(period)},
		{"cpu.cfs_quota_us", strconv.Itoa(quota)}}
	if second {
		settings = [][2]string{{"../cgroup.subtree_control", "+cpu"}, {"cpu.weight", "10000"},
			{"cpu.max", fmt.Sprint(quota, " ", period)}}
	}
	if quota == 0 {
		settings = settings[:len(settings)-1]
	}
	for _, one := range settings {
		if err := os.WriteFile(filepath.Join(group, one[0]), []byte(one[1]), 0o600); err != nil {
			return "", err
		}
	}
	return group, nil
}

// enter puts this process and its later children into a group of their own,
// without a quota. Other work must not delay this process, because the measured
// functions wait for its responses.
func (s *shares) enter() error {
	group, err := s.group("bench", 0)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o600)
}

// add creates a group for functions of that size. It returns a folder with one
// script for each program of the build. The script runs the program in the group.
func (s *shares) add(b build, megabytes int) (string, error) {
	group, err := s.group(strconv.Itoa(megabytes), int(shareOf(megabytes)*period))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.dir, strconv.Itoa(megabytes))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	programs, err := os.ReadDir(b.dir)
	if err != nil {
		return "", err
	}
	for _, p := range programs {
		text := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs && exec %s\n", group, filepath.Join(b.dir, p.Name()))
		//nolint:gosec // a program of this user
		if err := os.WriteFile(filepath.Join(dir, p.Name()), []byte(text), 0o700); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// close moves this process out of its group and removes the groups. Their other
// processes must have ended.
func (s *shares) close() {
	if root, _, err := controller(); err == nil {
		_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o600)
	}
	for _, group := range s.groups {
		if err := os.Remove(group); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
}
