package main

// What a round leaves on the disk: all that the judge sees.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	ms     int64 = 1e6
	second int64 = 1e9
	never  int64 = 1<<63 - 1
)

// now is CLOCK_BOOTTIME in nanoseconds, the clock of all histories.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// A Round is one fleet on one set of servers under one nemesis.
type Round struct {
	Setup    string
	Seed     int64
	Lease    int64 // ns
	Timeout  int64 // ns; --timeout
	Locks    []Lock
	Began    int64
	Ended    int64
	Servers  int
	Minority int   // so many servers may forget without an effect
	Distance int64 `json:",omitempty"` // ns, one way to the first of several servers
	Forgets  bool  // a server that is restarted has forgotten its locks
}

// A Lock is one name with all that is done to it.
type Lock struct {
	Name    string
	Kind    string // plain, fair, simple, rw, semaphore, several
	Permits int
}

// names returns the names of its keys.
func (l Lock) names() []string {
	if l.Kind == "several" {
		return []string{l.Name, l.Name + "'"}
	}
	return []string{l.Name}
}

// A Run is one process of rlock, or one hold of a peer, or a nested run within another (Outer).
type Run struct {
	ID           string
	Outer        string `json:",omitempty"`
	Host         int
	By           string // rlock, shell (acquire, unlock), redisson, redis-py
	Names        []string
	Mode         string // exclusive, read, write, permit
	Lease        int64
	Wait         int64    // -1: forever
	AtLeast      int64    `json:",omitempty"`
	AtMost       int64    `json:",omitempty"`
	InnerAtLeast int64    `json:",omitempty"` // of the nested run
	InnerNames   []string `json:",omitempty"` // where they differ
	KillAfter    int64    `json:",omitempty"` // 0: the default
	Synced       bool     `json:",omitempty"` // --sync-replicas 1
	Logger       bool     `json:",omitempty"` // a process that was there before it is to outlive it
	Refused      bool     `json:",omitempty"` // it must not succeed
	Final        bool     `json:",omitempty"` // the lock is free, so it is to get it
	Fixed        bool     `json:",omitempty"` // --no-watchdog
	Fence        bool     `json:",omitempty"`
	Limited      bool     `json:",omitempty"` // few descriptors, or an execve that stalls
	Unheard      bool     `json:",omitempty"` // nobody reads what it says
	Stalled      bool     `json:",omitempty"` // and its stderr, a pipe, is full
	Hold         int64    `json:",omitempty"` // so long its command works
	Exit         int      // the status that the command ends with
	Args         []string
	Called       int64
	Ended        int64 // 0: it was still there at the end
	Status       int   // 128+N: signal N
	Stderr       string

	Enter, Last int64 // the first and the last sign of life under the lock; 0: none
	Left        bool  // the command ended by itself
	DoubleTerm  bool  // it got SIGTERM twice at once
	Owner       string
	Token       int64
	Pid         int
	lastTerm    int64
	loggerEnded bool // by itself
}

// An Act of the nemesis, and for how long it lasted. What does not apply is -1 or "".
type Act struct {
	At, Until int64
	Kind      string
	Server    int
	Host      int
	Run       string
	Lock      string
	Detail    string
}

// A Look at a lock on a server: who has it (owners, and as far as they tell the names of runs), and who
// stands in its queue, from the head on: the names of runs, or the owners where another library waits.
type Look struct {
	Began, Ended int64
	Again        int64 // when the last look began that showed the same
	Server       int
	Lock         string
	Holders      []string
	Notes        []string
	Queue        []string
}

// A Check is one 'rlock fence NAME TOKEN'.
type Check struct {
	Began, Ended int64
	Lock         string
	Token        int64
	Status       int
}

// A Leftover is what was still there after all leases had ended.
type Leftover struct{ What, Detail string }

type History struct {
	Dir       string
	Round     Round
	Runs      []*Run
	Acts      []Act
	Looks     []Look
	Checks    []Check
	Leftovers []Leftover
	logs      map[int][]Request // of each server that was asked for
}

func saveLines[T any](dir, file string, items []T) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for _, item := range items {
		if err := encoder.Encode(item); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, file), out.Bytes(), 0o600)
}

func loadLines[T any](dir, file string) ([]T, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	var items []T
	decoder := json.NewDecoder(bytes.NewReader(data))
	for decoder.More() {
		var item T
		if err := decoder.Decode(&item); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		items = append(items, item)
	}
	return items, nil
}

func (h *History) save() error {
	for _, err := range []error{
		saveLines(h.Dir, "round.json", []Round{h.Round}),
		saveLines(h.Dir, "runs.jsonl", h.Runs),
		saveLines(h.Dir, "acts.jsonl", h.Acts),
		saveLines(h.Dir, "looks.jsonl", h.Looks),
		saveLines(h.Dir, "checks.jsonl", h.Checks),
		saveLines(h.Dir, "leftovers.jsonl", h.Leftovers),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func loadHistory(dir string) (*History, error) {
	h := &History{Dir: dir}
	rounds, err := loadLines[Round](dir, "round.json")
	if err != nil || len(rounds) != 1 {
		return nil, fmt.Errorf("%s holds no history: %v", dir, err)
	}
	h.Round = rounds[0]
	if h.Runs, err = loadLines[*Run](dir, "runs.jsonl"); err != nil {
		return nil, err
	}
	if h.Acts, err = loadLines[Act](dir, "acts.jsonl"); err != nil {
		return nil, err
	}
	if h.Looks, err = loadLines[Look](dir, "looks.jsonl"); err != nil {
		return nil, err
	}
	if h.Checks, err = loadLines[Check](dir, "checks.jsonl"); err != nil {
		return nil, err
	}
	if h.Leftovers, err = loadLines[Leftover](dir, "leftovers.jsonl"); err != nil {
		return nil, err
	}
	return h, h.readLife()
}

// readLife reads what the commands themselves wrote, RUN.h each.
func (h *History) readLife() error {
	known := map[string]*Run{}
	for _, run := range h.Runs {
		known[run.ID] = run
	}
	for _, run := range h.Runs {
		_, err := os.Stat(filepath.Join(h.Dir, "life", run.ID+".logger"))
		run.loggerEnded = err == nil
	}
	files, err := filepath.Glob(filepath.Join(h.Dir, "life", "*.h"))
	if err != nil {
		return err
	}
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".h")
		run := known[id]
		if run == nil { // a peer's hold tells of itself
			run = &Run{ID: id, Host: -1, Wait: -1}
			h.Runs = append(h.Runs, run)
		}
		if err := run.readLife(file); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) readLife(file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue // a process was killed while it wrote
		}
		at, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		switch words[0] {
		case "enter":
			r.Enter, r.Last = at, at
			for _, word := range words[2:] {
				key, value, _ := strings.Cut(word, "=")
				switch key {
				case "pid":
					r.Pid, _ = strconv.Atoi(value)
				case "owner":
					r.Owner = value
				case "token":
					r.Token, _ = strconv.ParseInt(value, 10, 64)
				case "lock":
					r.Names = []string{value}
				case "kind":
					r.Mode = map[string]string{"read": "read", "write": "write", "permits": "permit"}[value]
				case "by":
					r.By = value
				case "called":
					r.Called, _ = strconv.ParseInt(value, 10, 64)
				}
			}
			if r.Mode == "" {
				r.Mode = "exclusive"
			}
		case "beat":
			r.Last = at
		case "term":
			r.DoubleTerm = r.DoubleTerm || at-r.lastTerm < 50*ms
			r.lastTerm = at
		case "leave":
			r.Last, r.Left = at, true
		case "released", "failed":
			r.Ended = at
		}
	}
	return lines.Err()
}
