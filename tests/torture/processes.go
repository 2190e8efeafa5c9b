package main

// The processes of a round, known by the environment that each of them inherits.

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	roundVariable = "TORTURE_ROUND"
	hostVariable  = "TORTURE_HOST"
	runVariable   = "TORTURE_RUN"
)

type Process struct {
	pid, parent int
	program     string
	state       byte
}

// processes returns those whose environment has NAME=VALUE, except this one. A zombie has none.
func processes(name, value string) []Process {
	marker := []byte(name + "=" + value)
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []Process
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		at := bytes.Index(data, marker)
		end := at + len(marker)
		if at < 0 || (at > 0 && data[at-1] != 0) || (end < len(data) && data[end] != 0) {
			continue
		}
		if p, ok := look(filepath.Dir(file)); ok && p.pid != os.Getpid() {
			found = append(found, p)
		}
	}
	return found
}

func look(dir string) (Process, bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, false
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	p := Process{state: fields[0][0]}
	p.pid, _ = strconv.Atoi(strings.TrimSpace(string(stat[:open])))
	p.parent, _ = strconv.Atoi(fields[1])
	p.program, _ = os.Readlink(filepath.Join(dir, "exe"))
	return p, true
}

// signalAll signals until nobody new is found, a few times at most: processes start others meanwhile.
func signalAll(name, value string, number syscall.Signal) {
	seen := map[int]bool{}
	isNew := true
	for i := 0; isNew && i < 4; i++ {
		isNew = false
		for _, p := range processes(name, value) {
			if !seen[p.pid] || number == syscall.SIGKILL {
				isNew = isNew || !seen[p.pid]
				seen[p.pid] = true
				_ = syscall.Kill(p.pid, number)
			}
		}
	}
}

// signalAllIn signals those that work in a folder.
func signalAllIn(dir string, number syscall.Signal) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if place, _ := os.Readlink(link); place == dir {
			if p, ok := look(filepath.Dir(link)); ok {
				_ = syscall.Kill(p.pid, number)
			}
		}
	}
}

// The processes of one run: rlock itself, its guardian, the command, and the same of a nested run.
type Family struct {
	rlock, guardian, command      int // process numbers; 0: none
	nested, nestedGuardian, inner int
	watchdog                      int // of acquire
	children                      int // of rlock that are no other program yet: the guardian, and a command
}

func (fleet *Fleet) familyOf(run *Run) Family {
	f := Family{}
	all := processes(runVariable, fleet.marker(run.ID))
	byPid := map[int]Process{}
	for _, p := range all {
		byPid[p.pid] = p
	}
	isRlock := func(pid int) bool { return byPid[pid].program == fleet.rlock }
	isWork := func(pid int) bool { return byPid[pid].program == fleet.work }
	for _, p := range all {
		switch {
		case isRlock(p.pid) && run.By == "shell":
			f.watchdog = p.pid
		case isRlock(p.pid) && isWork(p.parent):
			f.nested = p.pid
		case isRlock(p.pid) && isRlock(p.parent):
			f.children++
			if isWork(byPid[p.parent].parent) {
				f.nestedGuardian = p.pid
			} else {
				f.guardian = p.pid
			}
		case isRlock(p.pid):
			f.rlock = p.pid
		case isWork(p.pid) && isWork(p.parent): // a daemon, before it is one
		case isWork(p.pid) && isRlock(p.parent) && isWork(byPid[p.parent].parent):
			f.inner = p.pid
		case isWork(p.pid) && f.command == 0:
			f.command = p.pid
		}
	}
	return f
}
