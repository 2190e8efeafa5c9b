package main

// What is seen of a round beside what its runs write: stalls of the machine, looks at locks, requests.

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"golang.org/x/sys/unix"
)

// watchStalls notes when a processor of this machine did not let a process run that wanted to: each for itself, as the
// machine may be a virtual one, whose processors stand still one at a time.
func (f *Fleet) watchStalls(done chan struct{}) {
	for processor := 0; processor < runtime.NumCPU(); processor++ {
		go f.watchProcessor(processor, done)
	}
}

func (f *Fleet) watchProcessor(processor int, done chan struct{}) {
	runtime.LockOSThread()
	var only unix.CPUSet
	only.Set(processor)
	_ = unix.SchedSetaffinity(0, &only)
	pause := unix.Timespec{Nsec: 10 * ms}
	for last := now(); ; last = now() {
		select {
		case <-done:
			return // and the thread ends with it
		default:
		}
		_ = unix.Nanosleep(&pause, nil)
		if late := now() - last; late > 60*ms {
			f.mutex.Lock()
			f.acts = append(f.acts, Act{At: last, Until: now(), Kind: "stall", Server: -1, Host: -1})
			f.mutex.Unlock()
		}
	}
}

// Returns who has a lock, an owner each, and those in its queue: the notes, which are the runs' names, or the
// owners where there is none.
const lookScript = `local holders, notes, queue = {}, {}, {}
local function note_of(owner)
  local about = redis.call('hget', KEYS[3], owner)
  return about and cjson.decode(about).note
end
local kind = redis.call('type', KEYS[1]).ok
if kind == 'hash' then
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    if field ~= 'mode' then holders[#holders + 1] = field end
  end
elseif kind == 'string' then
  holders = {redis.call('get', KEYS[1])}
end
for _, owner in ipairs(holders) do notes[#notes + 1] = note_of(owner) end
for _, owner in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
  queue[#queue + 1] = note_of(owner) or owner
end
return {holders, notes, queue}`

// lookAtLocks notes each change that it sees at a server, and how long it lasts, where no other server takes over.
func (f *Fleet) lookAtLocks(server *Server, done chan struct{}) {
	script := redis.NewScript(3, lookScript)
	var conn redis.Conn
	var locks []Lock // one for each name
	for _, lock := range f.history.Round.Locks {
		for _, name := range lock.names() {
			locks = append(locks, Lock{Name: name, Kind: lock.Kind})
		}
	}
	last := map[string]string{}
	shown := map[string]int{} // where in the history the last look is
	for f.setup.isSingle() || f.setup.Topology == "redlock" {
		select {
		case <-done:
			return
		case <-time.After(15 * time.Millisecond):
		}
		if conn == nil {
			var err error
			if conn, err = server.dial(); err != nil {
				conn = nil
				continue
			}
		}
		for _, lock := range locks {
			look := Look{Began: now(), Server: server.ID, Lock: lock.Name}
			parts, err := redis.Values(script.Do(conn, look.Lock, "redisson_lock_queue:{"+look.Lock+"}", "rlock_info:{"+look.Lock+"}"))
			look.Ended = now()
			if err != nil {
				conn.Close()
				conn = nil
				break
			}
			look.Holders, _ = redis.Strings(parts[0], nil)
			look.Notes, _ = redis.Strings(parts[1], nil)
			look.Queue, _ = redis.Strings(parts[2], nil)
			if lock.Kind == "semaphore" {
				look.Holders = nil
			}
			said := fmt.Sprint(look.Holders, look.Notes, look.Queue)
			f.mutex.Lock()
			if said != last[look.Lock] {
				last[look.Lock], shown[look.Lock] = said, len(f.history.Looks)
				f.history.Looks = append(f.history.Looks, look)
			}
			f.history.Looks[shown[look.Lock]].Again = look.Began
			f.mutex.Unlock()
		}
	}
}

// overhear writes down what a server is asked.
func (h *History) overhear(server *Server, done chan struct{}) {
	file, err := os.Create(filepath.Join(h.Dir, fmt.Sprintf("requests-%d.log", server.ID)))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<16)
	defer out.Flush()
	for {
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
		}
		conn, err := redis.Dial("unix", server.socket, redis.DialReadTimeout(0))
		if err != nil {
			continue
		}
		ended := make(chan struct{})
		go func() { // who listens waits for as long as nobody asks anything
			select {
			case <-done:
				conn.Close()
			case <-ended:
			}
		}()
		if _, err = conn.Do("MONITOR"); err == nil {
			fmt.Fprintf(out, "%d - %s\n", now(), listens)
			for {
				text, err := redis.String(conn.Receive())
				if err != nil {
					break
				}
				// As the server says them: "1700000000.123456 [0 unix:/..] "EVALSHA" ...".
				client, request, ok := strings.Cut(text, "] ")
				if ok && !strings.HasSuffix(client, " lua") && !strings.HasPrefix(request, `"PING"`) {
					at, _, _ := strings.Cut(client, " ")
					fmt.Fprintf(out, "%d %s %.600s\n", now(), at, request)
				}
			}
			fmt.Fprintf(out, "%d - %s\n", now(), deaf)
		}
		close(ended)
		conn.Close()
	}
}
