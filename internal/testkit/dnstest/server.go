package dnstest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Any scripts a name for every type of question: each type gets the records
// of a Reply that fit it, and counts its own turns.
const Any uint16 = 0

// The types that tests script most.
const (
	A     = dns.TypeA
	AAAA  = dns.TypeAAAA
	HTTPS = dns.TypeHTTPS
)

// Question is one question that the server was asked.
type Question struct {
	Name string // as it was on the wire: case and final dot are kept
	Type uint16
	Net  string // "udp" or "tcp"
	ID   uint16
	EDNS bool // an OPT record came along
}

// String returns "name TYPE net".
func (q Question) String() string {
	return q.Name + " " + dns.TypeToString[q.Type] + " " + q.Net
}

type key struct {
	name  string
	qtype uint16
}

// Server is a DNS server under a test's control. It is safe for concurrent
// use.
type Server struct {
	addr string
	done chan struct{}

	mu      sync.Mutex
	scripts map[key][]Reply
	turns   map[key]int
	asked   []Question
}

// New starts a server on a free port of 127.0.0.1 and stops it when the test
// ends.
func New(tb testing.TB) *Server {
	tb.Helper()
	pc, ln, err := bind()
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{
		addr: pc.LocalAddr().String(), done: make(chan struct{}),
		scripts: map[key][]Reply{}, turns: map[key]int{},
	}
	servers := []*dns.Server{
		{PacketConn: pc, Handler: s.handler("udp")},
		{Listener: ln, Handler: s.handler("tcp")},
	}
	var wg sync.WaitGroup
	for _, srv := range servers {
		started := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		wg.Go(func() {
			if err := srv.ActivateAndServe(); err != nil {
				tb.Errorf("dnstest: %v", err)
			}
		})
		<-started
	}
	tb.Cleanup(func() {
		close(s.done)
		for _, srv := range servers {
			if err := srv.Shutdown(); err != nil {
				tb.Errorf("dnstest: shutdown: %v", err)
			}
		}
		wg.Wait()
	})
	return s
}

// bind finds a port that is free for UDP and for TCP.
func bind() (net.PacketConn, net.Listener, error) {
	var last error
	for range 50 {
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("dnstest: %w", err)
		}
		ln, err := net.Listen("tcp", pc.LocalAddr().String())
		if err == nil {
			return pc, ln, nil
		}
		last = err
		_ = pc.Close()
	}
	return nil, nil, fmt.Errorf("dnstest: no port is free for both UDP and TCP: %w", last)
}

// Addr returns the server's IP:port, for egress.resolver.servers.
func (s *Server) Addr() string { return s.addr }

// Addrs scripts name with addresses of either family and a TTL of one minute.
func (s *Server) Addrs(name string, addrs ...string) {
	s.Script(name, Any, Reply{Addrs: addrs, TTL: 60})
}

// Alias scripts name as a CNAME chain that ends in addrs.
func (s *Server) Alias(name string, chain []string, addrs ...string) {
	s.Script(name, Any, Reply{CNAME: chain, Addrs: addrs, TTL: 60})
}

// Script says how questions for name and qtype are answered: the first one by
// the first reply and so on, and the last reply for all that follow. It
// replaces an earlier script. A script for one type wins over one for Any.
func (s *Server) Script(name string, qtype uint16, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = dns.CanonicalName(name)
	s.scripts[key{name, qtype}] = slices.Clone(replies)
	for k := range s.turns {
		if k.name == name && (qtype == Any || k.qtype == qtype) {
			delete(s.turns, k)
		}
	}
}

// Asked returns all questions so far, in the order of their arrival.
func (s *Server) Asked() []Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// AskedFor returns how many questions of type qtype (or of Any type) there
// were for name, whatever its case.
func (s *Server) AskedFor(name string, qtype uint16) int {
	n := 0
	for _, q := range s.Asked() {
		if strings.EqualFold(strings.TrimSuffix(q.Name, "."), strings.TrimSuffix(name, ".")) &&
			(qtype == Any || q.Type == qtype) {
			n++
		}
	}
	return n
}

// next records the question and returns the reply whose turn it is.
func (s *Server) next(network string, req *dns.Msg) (Reply, dns.Question, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(req.Question) != 1 {
		return Reply{}, dns.Question{}, false
	}
	q := req.Question[0]
	s.asked = append(s.asked, Question{
		Name: q.Name, Type: q.Qtype, Net: network, ID: req.Id, EDNS: req.IsEdns0() != nil,
	})
	name := dns.CanonicalName(q.Name)
	script, ok := s.scripts[key{name, q.Qtype}]
	if !ok {
		script, ok = s.scripts[key{name, Any}]
	}
	if !ok {
		return Reply{Rcode: dns.RcodeNameError}, q, true
	}
	if len(script) == 0 {
		return Reply{}, q, true
	}
	turn := key{name, q.Qtype}
	i := min(s.turns[turn], len(script)-1)
	// A truncated answer is asked again over TCP: that is the same turn.
	if !script[i].Truncate || network == "tcp" {
		s.turns[turn]++
	}
	return script[i], q, true
}

func (s *Server) handler(network string) dns.Handler {
	return dns.HandlerFunc(func(w dns.ResponseWriter, req *dns.Msg) {
		r, q, ok := s.next(network, req)
		if !ok || r.Silent {
			return
		}
		if r.Delay > 0 && !s.wait(r.Delay) {
			return
		}
		for _, packet := range r.packets(network, req, q) {
			if _, err := w.Write(packet); err != nil {
				return
			}
		}
	})
}

// wait sleeps for d; false when the test ended first.
func (s *Server) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
		return false
	}
}
