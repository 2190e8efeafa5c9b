package main

// The fleet: hosts whose workers start rlock over and over.

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

type Setup struct {
	Name     string
	Topology string // single, redlock, sentinel, cluster, name (of a primary, which a replica may become), local
	Servers  int
	Persists bool
	Shells   bool
	Peers    bool
	Kinds    []string
}

var (
	oneServer  = []string{"plain", "fair", "simple", "rw", "semaphore", "several"}
	manyServer = []string{"plain", "simple", "several"}
	setups     = []Setup{
		{Name: "aof", Topology: "single", Servers: 1, Persists: true, Kinds: oneServer},
		{Name: "volatile", Topology: "single", Servers: 1, Kinds: oneServer},
		{Name: "redlock3", Topology: "redlock", Servers: 3, Kinds: manyServer},
		{Name: "redlock5", Topology: "redlock", Servers: 5, Kinds: manyServer},
		{Name: "sentinel", Topology: "sentinel", Servers: 3, Kinds: oneServer},
		{Name: "cluster", Topology: "cluster", Servers: 6, Kinds: oneServer},
		{Name: "name", Topology: "name", Servers: 2, Kinds: oneServer},
		{Name: "local", Topology: "local", Servers: 1, Persists: true, Kinds: oneServer},
		{Name: "shells", Topology: "single", Servers: 1, Persists: true, Shells: true, Kinds: []string{"plain", "fair", "simple", "rw", "semaphore"}},
		{Name: "mixed", Topology: "single", Servers: 1, Persists: true, Peers: true, Kinds: oneServer},
	}
)

// isSingle tells whether all locks are on one server.
func (s Setup) isSingle() bool { return s.Topology == "single" || s.Topology == "local" }

const (
	hostCount      = 3
	workerCount    = 5 // a host
	longestAtLeast = 1500 * ms
	shortKillAfter = 100 * ms
	lockCount      = 3 // of which each is wanted by a third of the workers
)

// A Fleet is what one round runs. Everything that it chooses comes from the seed.
type Fleet struct {
	history *History
	setup   Setup
	group   *Backend
	proxies [][]*Proxy // of a host, a server
	rlock   string
	work    string

	mutex    sync.Mutex
	live     map[string]*Run // runs that have been started and have not ended
	acts     []Act
	tokens   map[string][]int64 // drawn so far, of a lock
	stopping bool
	counter  int
	workers  sync.WaitGroup
}

func (f *Fleet) urls(host int) []string {
	if f.group.url != "" {
		return []string{f.group.url}
	}
	var urls []string
	for _, proxy := range f.proxies[host] {
		urls = append(urls, proxy.url())
		if f.setup.Topology == "name" {
			break
		}
	}
	return urls
}

func (f *Fleet) environ(host int, run string) []string {
	var environ []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RLOCK_") && !strings.HasPrefix(variable, "REDISCLI_") {
			environ = append(environ, variable)
		}
	}
	return append(environ, roundVariable+"="+f.history.Dir, hostVariable+"="+f.hostMarker(host),
		runVariable+"="+f.marker(run), "RLOCK_REDIS="+strings.Join(f.urls(host), " "), "HOME="+f.history.Dir,
		"XDG_CONFIG_HOME="+f.history.Dir)
}

// Several rounds run at the same time, so what is in the environment tells the round, too.
func (f *Fleet) marker(run string) string   { return f.history.Dir + "/" + run }
func (f *Fleet) hostMarker(host int) string { return fmt.Sprintf("%s/host%d", f.history.Dir, host) }

func (f *Fleet) life(run string) string { return filepath.Join(f.history.Dir, "life", run+".h") }

// liveRuns returns those that have been started and have not ended, in the order of their names.
func (f *Fleet) liveRuns() []*Run {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	runs := make([]*Run, 0, len(f.live))
	for _, run := range f.live {
		runs = append(runs, run)
	}
	sort.Slice(runs, func(a, b int) bool { return runs[a].ID < runs[b].ID })
	return runs
}

// lifeOf returns what the command of a run has written so far.
func (f *Fleet) lifeOf(run string) *Run {
	life := &Run{}
	_ = life.readLife(f.life(run)) // it may not be there yet
	return life
}

// holds tells whether the command of a run has begun.
func (f *Fleet) holds(run string) bool {
	_, err := os.Stat(f.life(run))
	return err == nil
}

// start has all workers work, each with a source of choices of its own.
func (f *Fleet) start(seed int64) {
	for _, lock := range f.history.Round.Locks {
		if lock.Kind == "fair" && f.setup.isSingle() {
			f.workers.Add(1)
			go f.barge(lock)
		}
	}
	for host := 0; host < hostCount; host++ {
		for worker := 0; worker < workerCount; worker++ {
			f.workers.Add(1)
			go func(host int, choices *rand.Rand) {
				defer f.workers.Done()
				for !f.isStopping() {
					run := f.choose(choices, host)
					f.execute(run)
					pause := choices.Intn(20)
					if run.Status == 69 { // no server: as cron does, not at once
						pause += 300
					}
					time.Sleep(time.Duration(pause) * time.Millisecond)
				}
			}(host, rand.New(rand.NewSource(seed+int64(host*100+worker))))
		}
	}
}

// barge asks for a fair lock over and over, and does not wait: who waits is not to be passed.
func (f *Fleet) barge(lock Lock) {
	defer f.workers.Done()
	for !f.isStopping() {
		run := f.newRun(0, lock)
		run.Args = []string{f.rlock, "exec", "-n", "-q", "--fair", "--lease", seconds(run.Lease), "--timeout",
			seconds(f.history.Round.Timeout), lock.Name, "--", f.work, f.life(run.ID), "3"}
		f.execute(run)
		time.Sleep(30 * time.Millisecond)
	}
}

func (f *Fleet) isStopping() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.stopping || isOver.Load()
}

// newRun is one that takes a lock in the mode that goes with its kind.
func (f *Fleet) newRun(host int, lock Lock) *Run {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.counter++
	run := &Run{ID: fmt.Sprintf("r%d", f.counter), Host: host, By: "rlock", Names: []string{lock.Name}, Mode: "exclusive",
		Lease: f.history.Round.Lease}
	switch lock.Kind {
	case "rw":
		run.Mode = "write"
	case "semaphore":
		run.Mode = "permit"
	}
	return run
}

func seconds(ns int64) string { return fmt.Sprintf("%dms", ns/ms) }

// execute runs it to its end, and notes what came of it.
func (f *Fleet) execute(run *Run) {
	cmd := exec.Command(run.Args[0], run.Args[1:]...)
	cmd.Env = f.environ(run.Host, run.ID)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A file: a pipe would be waited for until all who have inherited it end.
	stderr, err := os.Create(f.life(run.ID) + ".err")
	if err != nil {
		panic(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if run.Stalled {
		reader, writer := fullPipe()
		defer reader.Close()
		defer writer.Close()
		cmd.Stderr = writer
	}
	f.mutex.Lock()
	f.history.Runs = append(f.history.Runs, run)
	f.live[run.ID] = run
	run.Called = now()
	f.mutex.Unlock()
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	f.mutex.Lock()
	run.Pid = cmd.Process.Pid
	f.mutex.Unlock()
	_ = cmd.Wait()
	ended := now()
	text, _ := os.ReadFile(stderr.Name())
	os.Remove(stderr.Name())
	f.mutex.Lock()
	defer f.mutex.Unlock()
	run.Ended = ended
	run.Status = cmd.ProcessState.ExitCode()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		run.Status = 128 + int(status.Signal())
	}
	run.Stderr = string(bytes.TrimSpace(text))
	delete(f.live, run.ID)
	if run.Fence && len(run.Names) == 1 {
		life := &Run{}
		if life.readLife(f.life(run.ID)) == nil && life.Token > 0 {
			f.tokens[run.Names[0]] = append(f.tokens[run.Names[0]], life.Token)
		}
	}
}

// fullPipe returns the ends of a pipe that takes nothing more.
func fullPipe() (reader, writer *os.File) {
	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	fd := int(writer.Fd()) // which also makes it block
	_ = syscall.SetNonblock(fd, true)
	for block := make([]byte, 4096); ; {
		if _, err := syscall.Write(fd, block); err != nil {
			break
		}
	}
	_ = syscall.SetNonblock(fd, false)
	return reader, writer
}

// checkTokens asks over and over whether some token, mostly an old one, is still to be accepted.
func (f *Fleet) checkTokens(choices *rand.Rand) {
	for !f.isStopping() {
		time.Sleep(time.Duration(50+choices.Intn(100)) * time.Millisecond)
		lock := f.history.Round.Locks[choices.Intn(len(f.history.Round.Locks))].Name
		if choices.Intn(4) == 0 {
			lock += "'"
		}
		f.mutex.Lock()
		drawn := f.tokens[lock]
		var token int64
		if len(drawn) > 0 {
			token = drawn[len(drawn)-1-choices.Intn(min(len(drawn), 5))]
		}
		f.mutex.Unlock()
		if token == 0 {
			continue
		}
		check := Check{Began: now(), Lock: lock, Token: token}
		cmd := exec.Command(f.rlock, "fence", "-q", "--timeout", seconds(f.history.Round.Timeout), lock, fmt.Sprint(token))
		cmd.Env = f.environ(choices.Intn(hostCount), "fence")
		_ = cmd.Run()
		check.Ended, check.Status = now(), cmd.ProcessState.ExitCode()
		f.mutex.Lock()
		f.history.Checks = append(f.history.Checks, check)
		f.mutex.Unlock()
	}
}

func min[T int | int64](a, b T) T {
	if a < b {
		return a
	}
	return b
}
