package main

// Throw-away servers: alone, several, a group with sentinels, a cluster, one that rlock starts itself.

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

type Server struct {
	ID      int
	dir     string
	socket  string
	port    int // 0: the socket only
	args    []string
	environ []string
	starter string // the rlock that starts it, with local:

	mutex sync.Mutex
	cmd   *exec.Cmd
}

func program() string {
	if name := os.Getenv("RLOCK_TEST_SERVER"); name != "" {
		return name
	}
	return "redis-server"
}

const longestSocket = 107 // of sun_path, without the zero at its end

// newServer describes a server; args are those of its command line.
func newServer(id int, dir string, port int, args ...string) (*Server, error) {
	s := &Server{ID: id, dir: filepath.Join(dir, fmt.Sprintf("server%d", id)), port: port}
	s.socket = filepath.Join(s.dir, "s")
	if len(s.socket) > longestSocket {
		return nil, fmt.Errorf("--out is too long a path for a Unix socket: %s", s.socket)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.args = append([]string{"--dir", s.dir, "--unixsocket", s.socket, "--port", strconv.Itoa(port), "--bind",
		"127.0.0.1", "--logfile", filepath.Join(s.dir, "log"), "--save", "", "--maxmemory-policy", "noeviction"}, args...)
	return s, nil
}

// start returns when the server answers.
func (s *Server) start() error {
	if isOver.Load() {
		return fmt.Errorf("server %d is not started any more", s.ID)
	}
	s.mutex.Lock()
	cmd := exec.Command(program(), s.args...)
	if s.starter != "" {
		cmd = exec.Command(s.starter, "list", "-q", "-r", "local:"+s.dir)
	}
	cmd.Env = append(os.Environ(), s.environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Start()
	s.cmd = cmd
	s.mutex.Unlock()
	started.Store(s, true)
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if reply, err := redis.String(s.do("PING")); err == nil && reply == "PONG" {
			return nil
		}
	}
	return fmt.Errorf("server %d does not answer; see %s", s.ID, filepath.Join(s.dir, "log"))
}

// All servers that were ever started: a server's own environment, which it overwrites, does not tell its round.
var started sync.Map

// killServers ends those whose files are below a folder.
func killServers(dir string) {
	started.Range(func(server, _ any) bool {
		if s := server.(*Server); strings.HasPrefix(s.dir, dir+"/") {
			s.signal(syscall.SIGKILL)
		}
		return true
	})
}

func (s *Server) signal(number syscall.Signal) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.starter != "" { // more than one is a fault of rlock's
		signalAllIn(s.dir, number)
		return
	}
	if s.cmd != nil && s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(number)
	}
}

// restart kills the server, and starts it after so long.
func (s *Server) restart(after time.Duration) error {
	s.signal(syscall.SIGKILL)
	time.Sleep(after)
	return s.start()
}

func (s *Server) dial() (redis.Conn, error) {
	return redis.Dial("unix", s.socket, redis.DialConnectTimeout(time.Second),
		redis.DialReadTimeout(5*time.Second), redis.DialWriteTimeout(time.Second))
}

func (s *Server) do(command string, args ...any) (any, error) {
	conn, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command, args...)
}

var (
	portMutex sync.Mutex
	claims    []net.Listener
	nextPort  = 11000
	lastPort  = 11000 // before which all that are not claimed by this process are another's
)

// freePorts returns ports of the loopback that nobody listens on, nor, for a cluster, 10000 above. None is
// returned twice: that of a server which is being restarted looks free. All are below those that
// the system gives to clients.
func freePorts(count int) ([]int, error) {
	portMutex.Lock()
	defer portMutex.Unlock()
	var ports []int
	for len(ports) < count {
		if nextPort == lastPort && !claimPorts() {
			return nil, fmt.Errorf("no free ports")
		}
		if isFree(nextPort) && isFree(nextPort+10000) {
			ports = append(ports, nextPort)
		}
		nextPort++
	}
	return ports, nil
}

// claimPorts makes the next thousand ports this process's own, among all tortures of this machine: a name in the
// abstract namespace stands for them until this process ends.
func claimPorts() bool {
	for ; lastPort < 21000; lastPort += 1000 {
		claim, err := net.Listen("unix", fmt.Sprintf("@rlock-torture-%d", lastPort))
		if err == nil {
			claims = append(claims, claim)
			nextPort, lastPort = lastPort, lastPort+1000
			return true
		}
	}
	return false
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// A Backend is the servers of a round, and how clients reach them.
type Backend struct {
	servers   []*Server
	sentinels []*Server
	url       string // "" where each host has proxies
	clock     string // the file by which the clock of the only server is set, or ""
}

func startGroup(setup Setup, dir, shim, rlock string) (*Backend, error) {
	g := &Backend{}
	var ports []int
	var err error
	if setup.Topology == "sentinel" || setup.Topology == "cluster" || setup.Topology == "name" {
		if ports, err = freePorts(setup.Servers + 3); err != nil {
			return g, err
		}
	}
	for i := 0; i < setup.Servers; i++ {
		args := []string{}
		if setup.Persists {
			args = append(args, "--appendonly", "yes", "--appendfsync", "always")
		}
		port := 0
		switch setup.Topology {
		case "sentinel", "name":
			port = ports[i]
			if i > 0 {
				args = append(args, "--replicaof", fmt.Sprintf("127.0.0.1 %d", ports[0]))
			}
			args = append(args, "--repl-diskless-sync-delay", "0")
		case "cluster":
			port = ports[i]
			args = append(args, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0",
				"--cluster-announce-ip", "127.0.0.1", "--cluster-allow-replica-migration", "no")
		}
		s, err := newServer(i, dir, port, args...)
		if err != nil {
			return g, err
		}
		if setup.Topology == "local" {
			s.starter, s.socket, g.url = rlock, filepath.Join(s.dir, "redis.sock"), "local:"+s.dir
		}
		if setup.Topology == "single" && shim != "" {
			g.clock = filepath.Join(dir, "clock")
			if err := g.setClock(0); err != nil {
				return g, err
			}
			s.environ = []string{"LD_PRELOAD=" + shim, "TORTURE_CLOCK=" + g.clock}
		}
		g.servers = append(g.servers, s)
		if err := s.start(); err != nil {
			return g, err
		}
	}
	switch setup.Topology {
	case "sentinel":
		return g, g.startSentinels(dir, ports)
	case "cluster":
		return g, g.joinCluster()
	case "name":
		return g, until(30*time.Second, "the replica does not follow", func() bool { return inStep(g.servers[0], g.servers[1]) })
	}
	return g, nil
}

func (g *Backend) startSentinels(dir string, ports []int) error {
	var hosts []string
	for i := 0; i < 3; i++ {
		port := ports[len(g.servers)+i]
		s, err := newServer(100+i, dir, port)
		if err != nil {
			return err
		}
		file := filepath.Join(s.dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\nunixsocket %s\nlogfile %s\nsentinel monitor mymaster 127.0.0.1 %d 2\n"+
			"sentinel down-after-milliseconds mymaster 700\nsentinel failover-timeout mymaster 1500\n",
			port, s.socket, filepath.Join(s.dir, "log"), ports[0])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		s.args = []string{file, "--sentinel"}
		g.sentinels = append(g.sentinels, s)
		if err := s.start(); err != nil {
			return err
		}
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", port))
	}
	g.url = "redis-sentinel://" + strings.Join(hosts, ",") + "#mymaster"
	return until(30*time.Second, "the sentinels do not find each other", func() bool {
		for _, s := range g.sentinels {
			reply, err := redis.Values(s.do("SENTINEL", "MASTER", "mymaster"))
			fields, _ := redis.StringMap(reply, err)
			if fields["num-other-sentinels"] != "2" || fields["num-slaves"] != strconv.Itoa(len(g.servers)-1) {
				return false
			}
		}
		return true
	})
}

func (g *Backend) joinCluster() error {
	args := []string{"--cluster", "create"}
	var hosts []string
	for _, s := range g.servers {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", s.port))
	}
	args = append(append(args, hosts...), "--cluster-replicas", "1", "--cluster-yes")
	if out, err := exec.Command("redis-cli", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("redis-cli --cluster create: %v: %s", err, out)
	}
	g.url = "redis-cluster://" + strings.Join(hosts, ",")
	return until(30*time.Second, "the cluster does not come up", func() bool {
		replicas := 0
		for _, s := range g.servers {
			info, err := redis.String(s.do("CLUSTER", "INFO"))
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
			role, _ := redis.String(s.do("INFO", "replication"))
			if strings.Contains(role, "role:slave") && strings.Contains(role, "master_link_status:up") {
				replicas++
			}
		}
		return replicas == len(g.servers)/2
	})
}

func (g *Backend) setClock(ahead int64) error {
	next := g.clock + ".new"
	if err := os.WriteFile(next, []byte(strconv.FormatInt(ahead, 10)), 0o600); err != nil {
		return err
	}
	return os.Rename(next, g.clock)
}

func (g *Backend) isMaster(s *Server) bool {
	role, err := redis.String(s.do("INFO", "replication"))
	return err == nil && strings.Contains(role, "role:master")
}

// inStep tells whether a replica has all that its master has written.
func inStep(master, replica *Server) bool {
	offset := func(s *Server, name string) string {
		info, _ := redis.String(s.do("INFO", "replication"))
		_, after, _ := strings.Cut(info, name+":")
		value, _, _ := strings.Cut(after, "\r")
		return value
	}
	at := offset(replica, "slave_repl_offset")
	return offset(replica, "master_link_status") == "up" && at != "" && at == offset(master, "master_repl_offset")
}

func (g *Backend) masters() []*Server {
	var masters []*Server
	for _, s := range g.servers {
		if g.isMaster(s) {
			masters = append(masters, s)
		}
	}
	return masters
}

func until(limit time.Duration, complaint string, done func() bool) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if done() {
			return nil
		}
	}
	return fmt.Errorf("%s (%v)", complaint, limit)
}
