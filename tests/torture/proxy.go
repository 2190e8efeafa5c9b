package main

// The network between one host and one server.

import (
	"io"
	"math/rand"
	"net"
	"sync"
	"time"
)

// A Fault of a network. Bytes that it swallows are gone, so the connections that lost some are cut when
// it ends, unless the next fault lets them be.
type Fault struct {
	Cut           bool // connections are reset, and none can be made
	Swallow       bool // requests are lost
	SwallowAnswer bool // replies are lost
	Delay         time.Duration
	DelayAnswer   time.Duration
	Split         bool // packets of one to three bytes
	Spare         bool // no fault: connections that have lost something are not cut yet
}

type Proxy struct {
	listener net.Listener
	network  string
	address  string
	distance time.Duration // how long each packet takes on its way, there and back

	mutex sync.Mutex
	fault Fault
	links map[*link]bool
}

type link struct {
	client, server net.Conn
	isDirty        bool
}

// newProxy listens on a port of the loopback for what is to reach the server.
func newProxy(network, address string, distance time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, network: network, address: address, distance: distance, links: map[*link]bool{}}
	go p.accept()
	return p, nil
}

// lead leads new connections to another server.
func (p *Proxy) lead(address string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.address = address
}

func (p *Proxy) url() string { return "redis://" + p.listener.Addr().String() }

func (p *Proxy) close() {
	p.listener.Close()
	p.set(Fault{Cut: true})
}

// set makes a fault; the zero value ends it.
func (p *Proxy) set(fault Fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault = fault
	for l := range p.links {
		if fault.Cut || l.isDirty && !fault.Spare {
			l.close()
			delete(p.links, l)
		}
	}
}

func (p *Proxy) current() Fault {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.fault
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.connect(client)
	}
}

func (p *Proxy) connect(client net.Conn) {
	if p.current().Cut {
		reset(client)
		return
	}
	p.mutex.Lock()
	address := p.address
	p.mutex.Unlock()
	server, err := net.Dial(p.network, address)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server}
	p.mutex.Lock()
	if p.fault.Cut {
		l.close()
	}
	p.links[l] = true
	p.mutex.Unlock()
	var requests sync.WaitGroup
	requests.Add(1)
	go func() {
		p.pump(l, server, client, func(f Fault) (bool, time.Duration) { return f.Swallow, f.Delay })
		requests.Done()
	}()
	p.pump(l, client, server, func(f Fault) (bool, time.Duration) { return f.SwallowAnswer, f.Delay + f.DelayAnswer })
	requests.Wait()
	l.close()
	p.mutex.Lock()
	delete(p.links, l)
	p.mutex.Unlock()
}

// pump carries bytes one way. It passes on that one end sends no more: a reset would take away what the other has not read.
func (p *Proxy) pump(l *link, to, from net.Conn, oneWay func(Fault) (isLost bool, delay time.Duration)) {
	buffer := make([]byte, 16<<10)
	for {
		size, err := from.Read(buffer)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == io.EOF {
			_ = half.CloseWrite()
			return
		}
		if err != nil {
			l.close()
			return
		}
		fault := p.current()
		if _, delay := oneWay(fault); delay+p.distance > 0 {
			time.Sleep(delay + p.distance)
			fault = p.current()
		}
		if isLost, _ := oneWay(fault); isLost {
			p.mutex.Lock()
			l.isDirty = true
			p.mutex.Unlock()
			continue
		}
		if err := write(to, buffer[:size], fault.Split); err != nil {
			l.close()
			return
		}
	}
}

func write(to io.Writer, data []byte, split bool) error {
	for split && len(data) > 3 && len(data) < 2000 {
		size := 1 + rand.Intn(3)
		if _, err := to.Write(data[:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	_, err := to.Write(data)
	return err
}

func (l *link) close() {
	reset(l.client)
	reset(l.server)
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
