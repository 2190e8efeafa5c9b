package main

// Faults of servers: they stop, start anew, refuse, or have another master.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// An outage that is longer than rlock waits for an answer after SIGCONT.
const longOutage = 1250 * ms

// takeRight takes the right to one of the commands that scripts use away from all.
func (n *Nemesis) takeRight() *Act {
	span := n.span()
	rights := []string{"pexpire", "pttl", "hset", "hget", "hexists", "set", "del", "publish", "hincrby", "zadd", "zrem"}
	right := rights[n.choices.Intn(len(rights))]
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("no-right")
	act.Server, act.Detail = server.ID, right
	_, _ = server.do("ACL", "SETUSER", "default", "-"+right)
	return n.lasting(act, key, span, func() { _, _ = server.do("ACL", "SETUSER", "default", "+@all") })
}

// continueInOutage sends SIGCONT to rlock while its server is away: for longer than rlock waits for an answer then (1 s),
// where some lease bears that, and otherwise for a part of the lease.
func (n *Nemesis) continueInOutage() *Act {
	round := n.fleet.history.Round
	outage := round.Lease / 4
	bearsLong := func(run *Run) bool { return run.bears(round.Timeout) > longOutage+second/10 }
	if bearsLong(&Run{Lease: round.Lease, KillAfter: shortKillAfter}) {
		outage = longOutage
	} else {
		bearsLong = anyOne
	}
	if !n.fleet.setup.isSingle() {
		return nil
	}
	network := func(run *Run) string { return proxyKey(run.Host, 0) }
	isUndisturbed := func(run *Run) bool {
		return !run.Fixed && bearsLong(run) && n.claim(run.ID) && n.claim(network(run))
	}
	find := func() *Run { return n.holderFor(outage, never, isUndisturbed) }
	n.ambush("continue", n.withNetwork(find), func(run *Run) {
		defer n.release("network")
		defer n.release(network(run))
		pid := n.fleet.familyOf(run).rlock
		if pid == 0 {
			return
		}
		server, key := n.anyServer()
		if server == nil {
			return
		}
		defer n.release(key)
		act := newAct("stop-server")
		act.Server, act.Detail = server.ID, "and SIGCONT to "+run.ID
		server.signal(syscall.SIGSTOP)
		_ = syscall.Kill(pid, syscall.SIGCONT)
		n.wait(time.Duration(outage))
		server.signal(syscall.SIGCONT)
		act.Until = now()
		n.note(*act)
	})
	return nil
}

// stopReplicas leaves a master alone: what it grants then, nobody else knows.
func (n *Nemesis) stopReplicas() *Act {
	lease := n.fleet.history.Round.Lease
	span := time.Duration(lease + n.choices.Int63n(lease))
	if n.fleet.setup.Topology != "sentinel" || !n.claim("replicas") {
		return nil
	}
	act := newAct("stop-replicas")
	var stopped []*Server
	for _, server := range n.fleet.group.servers {
		if !n.fleet.group.isMaster(server) {
			server.signal(syscall.SIGSTOP)
			stopped = append(stopped, server)
		}
	}
	act.At = now()
	goOn := func() {
		for _, server := range stopped {
			server.signal(syscall.SIGCONT)
		}
	}
	if len(stopped) != len(n.fleet.group.servers)-1 { // a master of old is about to become a replica
		goOn()
		span = 0
	}
	return n.lasting(act, "replicas", span, goOn)
}

func (n *Nemesis) stopServer() *Act {
	span := n.span()
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("stop-server")
	act.Server = server.ID
	server.signal(syscall.SIGSTOP)
	return n.lasting(act, key, span, func() { server.signal(syscall.SIGCONT) })
}

func (n *Nemesis) restart() *Act {
	away := time.Duration(n.choices.Intn(1500)) * time.Millisecond
	if n.fleet.setup.Topology == "name" { // it would be what it was at the start: primary or replica
		return nil
	}
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	return n.restartServer(server, key, away)
}

func (n *Nemesis) restartServer(server *Server, key string, away time.Duration) *Act {
	act := newAct("restart")
	act.Server = server.ID
	server.signal(syscall.SIGKILL)
	return n.lasting(act, key, away, func() { n.mustStart(server) })
}

// restartMost has a majority of several servers forget at once.
func (n *Nemesis) restartMost() *Act {
	away := time.Duration(n.choices.Intn(1500)) * time.Millisecond
	order := n.choices.Perm(len(n.fleet.group.servers))
	if n.fleet.setup.Topology != "redlock" {
		return nil
	}
	for _, i := range order[:n.fleet.history.Round.Minority+1] {
		server := n.fleet.group.servers[i]
		key := fmt.Sprint("server", server.ID)
		if n.claim(key) {
			n.restartServer(server, key, away)
		}
	}
	return nil
}

func (n *Nemesis) mustStart(server *Server) {
	if err := server.start(); err != nil && !isOver.Load() {
		panic(err)
	}
}

func (n *Nemesis) pauseClients() *Act {
	span := n.span()
	what := []string{"ALL", "WRITE"}[n.choices.Intn(2)]
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("pause-clients")
	act.Server, act.Detail = server.ID, what
	_, _ = server.do("CLIENT", "PAUSE", int64(span/time.Millisecond), what)
	return n.lasting(act, key, span, func() { _, _ = server.do("CLIENT", "UNPAUSE") })
}

func onServer(kind, command string, words ...any) func(*Nemesis) *Act {
	return func(n *Nemesis) *Act {
		server, key := n.anyServer()
		if server == nil {
			return nil
		}
		defer n.release(key)
		act := newAct(kind)
		act.Server = server.ID
		_, _ = server.do(command, words...)
		act.Until = now()
		return act
	}
}

func (n *Nemesis) takeMemory() *Act {
	span := n.span()
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("no-memory")
	act.Server = server.ID
	_, _ = server.do("CONFIG", "SET", "maxmemory", "1")
	return n.lasting(act, key, span, func() { _, _ = server.do("CONFIG", "SET", "maxmemory", "0") })
}

func (n *Nemesis) failover() *Act {
	group := n.fleet.group
	act := newAct("failover")
	switch n.fleet.setup.Topology {
	case "sentinel":
		_, err := group.sentinels[n.choices.Intn(3)].do("SENTINEL", "FAILOVER", "mymaster")
		act.Detail = fmt.Sprint(err)
	case "cluster":
		how := []string{"", "FORCE", "TAKEOVER"}[n.choices.Intn(3)]
		var replicas []*Server
		for _, server := range group.servers {
			if !group.isMaster(server) {
				replicas = append(replicas, server)
			}
		}
		if len(replicas) == 0 {
			return nil
		}
		words := []any{"FAILOVER"}
		if how != "" {
			words = append(words, how)
		}
		_, err := replicas[n.choices.Intn(len(replicas))].do("CLUSTER", words...)
		act.Detail = fmt.Sprint(how, " ", err)
	default:
		return nil
	}
	act.Until = now()
	return act
}

func (n *Nemesis) stepClock() *Act {
	group := n.fleet.group
	step := int64(n.choices.Intn(6000) - 3000)
	if group.clock == "" {
		return nil
	}
	data, err := os.ReadFile(group.clock)
	if err != nil {
		return nil
	}
	var ahead int64
	_, _ = fmt.Sscan(string(data), &ahead)
	act := newAct("clock")
	act.Server, act.Detail = 0, fmt.Sprintf("%+d ms", step)
	if group.setClock(ahead+step) != nil {
		return nil
	}
	act.Until = now()
	return act
}

// fillDisk leaves no room for the log of changes: a server that writes always ends itself then.
func (n *Nemesis) fillDisk() *Act {
	span := n.span()
	if !n.fleet.setup.Persists || n.fleet.setup.Topology != "single" {
		return nil
	}
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	filler := filepath.Join(server.dir, "filler")
	out, err := exec.Command("mountpoint", server.dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "is a mountpoint") {
		n.release(key)
		return nil
	}
	act := newAct("full-disk")
	act.Server = server.ID
	_ = exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=64k").Run()
	return n.lasting(act, key, span, func() {
		os.Remove(filler)
		if _, err := server.do("PING"); err != nil {
			server.signal(syscall.SIGKILL)
			n.mustStart(server)
		}
	})
}
