package main

// Locks that are taken from their owners, by commands of rlock or without.

import (
	"fmt"
	"os/exec"

	"github.com/gomodule/redigo/redis"
)

// mayForget tells whether the lock may be deleted on one more of several servers: on a minority, as
// documented. (Any number may be restarted: who has forgotten then has no vote for a while.)
func (n *Nemesis) mayForget(server *Server) bool {
	if n.fleet.setup.Topology != "redlock" {
		return true
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.forgot[server.ID] && len(n.forgot) >= n.fleet.history.Round.Minority {
		return false
	}
	n.forgot[server.ID] = true
	return true
}

func (n *Nemesis) deleteLock() *Act {
	lock := n.anyLock()
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	defer n.release(key)
	if !n.mayForget(server) {
		return nil
	}
	act := newAct("delete")
	act.Lock, act.Server = lock, server.ID
	deleted, _ := redis.Int(server.do("DEL", lock))
	act.Until, act.Detail = now(), fmt.Sprint("deleted ", deleted)
	return act
}

// takeAway deletes a lock whose command would go on for longer than a lease, or ends before the next renewal, and wakes
// those who wait for it.
func (n *Nemesis) takeAway() *Act {
	if !n.fleet.setup.isSingle() {
		return nil
	}
	lease := n.fleet.history.Round.Lease
	least, most := lease*13/10, never
	if n.choices.Intn(2) == 0 {
		least, most = 20*ms, lease/5
	}
	n.ambush("take", func() *Run { return n.holderFor(least, most, anyOne) }, func(run *Run) {
		server := n.fleet.group.servers[0]
		act := newAct("delete")
		act.Lock, act.Server = run.Names[0], server.ID
		deleted, _ := redis.Int(server.do("DEL", act.Lock))
		for _, channel := range []string{"redisson_lock__channel:{", "redisson_rwlock:{"} {
			_, _ = server.do("PUBLISH", channel+act.Lock+"}", "0")
		}
		act.Until, act.Detail = now(), fmt.Sprint("deleted ", deleted)
		n.note(*act)
	})
	return nil
}

// command runs rlock as somebody on call does, past all proxies. Returns its output.
func (n *Nemesis) command(args ...string) string {
	url := n.fleet.group.url
	if url == "" {
		url = "unix://" + n.fleet.group.servers[0].socket
	}
	cmd := exec.Command("timeout", append([]string{"10", n.fleet.rlock}, args...)...)
	cmd.Env = append(n.fleet.environ(0, "nemesis"), "RLOCK_REDIS="+url, hostVariable+"=none")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func (n *Nemesis) force() *Act {
	if n.fleet.setup.Topology == "redlock" {
		return nil
	}
	act := newAct("force")
	act.Lock = n.anyLock()
	act.Detail = n.command("unlock", "--force", "-y", act.Lock)
	act.Until = now()
	return act
}

func (n *Nemesis) repair() *Act {
	if n.fleet.setup.Topology == "redlock" {
		return nil
	}
	act := newAct("repair")
	act.Lock = n.anyLock()
	act.Detail = n.command("doctor", "--repair", act.Lock)
	act.Until = now()
	return act
}

func (n *Nemesis) evict() *Act {
	if n.fleet.setup.Topology == "redlock" {
		return nil
	}
	lock := n.anyLock()
	var owners []string
	for _, server := range n.fleet.group.servers {
		found, err := redis.Strings(server.do("LRANGE", "redisson_lock_queue:{"+lock+"}", "0", "-1"))
		if err == nil && len(found) > 0 {
			owners = found
			break
		}
	}
	if len(owners) == 0 {
		return nil
	}
	act := newAct("evict")
	act.Lock = lock
	owner := owners[n.choices.Intn(len(owners))]
	act.Detail = owner + " " + n.command("evict", lock, owner)
	act.Until = now()
	return act
}
