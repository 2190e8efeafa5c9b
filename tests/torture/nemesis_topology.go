package main

// Faults of what a server is: a primary that is demoted behind its name, sentinels that are set up anew, a private server
// without its socket, a server that refuses requests for a while.

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// refuse has a server answer all writes with an error that passes.
func (n *Nemesis) refuse() *Act {
	span := n.span()
	how := []string{"READONLY", "NOREPLICAS", "BUSY"}[n.choices.Intn(3)]
	topology := n.fleet.setup.Topology
	if topology != "single" && topology != "redlock" {
		return nil
	}
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("refuse")
	act.Server, act.Detail = server.ID, how
	switch how {
	case "READONLY":
		_, _ = server.do("REPLICAOF", "127.0.0.1", "1")
		return n.lasting(act, key, span, func() { _, _ = server.do("REPLICAOF", "NO", "ONE") })
	case "NOREPLICAS":
		_, _ = server.do("CONFIG", "SET", "min-replicas-to-write", "1")
		return n.lasting(act, key, span, func() { _, _ = server.do("CONFIG", "SET", "min-replicas-to-write", "0") })
	}
	_, _ = server.do("CONFIG", "SET", "lua-time-limit", "20")
	go func() { _, _ = server.do("EVAL", "while true do end", "0") }()
	return n.lasting(act, key, span, func() {
		_ = until(10*time.Second, "", func() bool {
			_, err := server.do("SCRIPT", "KILL")
			return err == nil
		})
	})
}

// removeSocket removes the socket of a private server, as a cleaner of /tmp does. The next one that looks for the server has to
// end it and start it again.
func (n *Nemesis) removeSocket() *Act {
	if n.fleet.setup.Topology != "local" {
		return nil
	}
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	defer n.release(key)
	act := newAct("remove-socket")
	act.Server, act.Detail = server.ID, fmt.Sprint(os.Remove(server.socket))
	act.Until = now()
	return act
}

// demote has the replica become the primary, and leads the name there. Old connections stay with the old primary. It loses
// nothing, as where a service does it on purpose.
func (n *Nemesis) demote() *Act {
	if n.fleet.setup.Topology != "name" || !n.claim("server0") {
		return nil
	}
	defer n.release("server0")
	if !n.claim("server1") {
		return nil
	}
	defer n.release("server1")
	old, fresh := n.fleet.group.servers[0], n.fleet.group.servers[1]
	if !n.fleet.group.isMaster(old) {
		old, fresh = fresh, old
	}
	act := newAct("demote")
	_, _ = old.do("CLIENT", "PAUSE", 5000, "WRITE")
	isDone := n.until(2*time.Second, func() bool { return inStep(old, fresh) })
	if isDone {
		_, _ = fresh.do("REPLICAOF", "NO", "ONE")
		_, _ = old.do("REPLICAOF", "127.0.0.1", fresh.port)
		for _, ofHost := range n.fleet.proxies {
			for _, proxy := range ofHost {
				proxy.lead(fresh.socket)
			}
		}
	}
	_, _ = old.do("CLIENT", "UNPAUSE")
	act.Until, act.Detail = now(), fmt.Sprint("from ", old.ID, ", done: ", isDone)
	if act.Until-act.At > n.fleet.history.Round.Timeout/4 { // otherwise nobody may notice
		act.Server = old.ID
	}
	return act
}

// renewSentinels has all sentinels forget what they knew, among it how many failovers there were. Two of them know the master
// at any moment, so nobody may notice.
func (n *Nemesis) renewSentinels() *Act {
	group := n.fleet.group
	if n.fleet.setup.Topology != "sentinel" {
		return nil
	}
	masters := group.masters()
	if len(masters) != 1 {
		return nil
	}
	// A server that is away would be forgotten, and stay a master of its own.
	info, _ := redis.String(masters[0].do("INFO", "replication"))
	if !strings.Contains(info, fmt.Sprintf("connected_slaves:%d\r", len(group.servers)-1)) {
		return nil
	}
	act := newAct("new-sentinels")
	for _, sentinel := range group.sentinels {
		_, _ = sentinel.do("SENTINEL", "REMOVE", "mymaster")
		_, err := sentinel.do("SENTINEL", "MONITOR", "mymaster", "127.0.0.1", masters[0].port, 2)
		_, _ = sentinel.do("SENTINEL", "SET", "mymaster", "down-after-milliseconds", 700, "failover-timeout", 1500)
		act.Detail += fmt.Sprint(err, " ")
	}
	act.Until = now()
	return act
}
