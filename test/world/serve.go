package world

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// httpPorts are the ports on which every address of the world serves HTTP.
var httpPorts = []string{"80", "443", "3000", "8080", "8443"}

// hosts are the running servers of the world.
type hosts struct {
	mu     sync.Mutex
	zone   Zone
	used   map[string]int // look-ups of a name and type so far
	routes map[string]Route
	seen   Seen
}

// serve runs the servers until in ends.
func serve(in io.Reader, out io.Writer) error {
	h := &hosts{used: map[string]int{}}
	if err := h.listen(); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			r.Error = err.Error()
		} else {
			r.Seen = h.take(o)
		}
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// take obeys an order and returns what was seen so far.
func (h *hosts) take(o order) Seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.Zone != nil {
		h.zone, h.routes, h.used, h.seen = *o.Zone, o.Routes, map[string]int{}, Seen{}
	}
	return h.seen
}

// listen starts DNS on DNSAddr and HTTP on all addresses.
func (h *hosts) listen() error {
	packets, err := net.ListenPacket("udp", DNSAddr+":53")
	if err != nil {
		return err
	}
	streams, err := net.Listen("tcp", DNSAddr+":53")
	if err != nil {
		return err
	}
	go (&dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(h.answer)}).ActivateAndServe()
	go (&dns.Server{Listener: streams, Handler: dns.HandlerFunc(h.answer)}).ActivateAndServe()
	for _, port := range httpPorts {
		ln, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		srv := &http.Server{Handler: http.HandlerFunc(h.origin), ConnState: h.connection, ReadHeaderTimeout: time.Minute}
		go srv.Serve(ln)
	}
	return nil
}

func (h *hosts) connection(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		h.mu.Lock()
		h.seen.Connections++
		h.mu.Unlock()
	}
}

// origin answers HTTP: the route of the path, else 200.
func (h *hosts) origin(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.seen.Requests = append(h.seen.Requests, fmt.Sprintf("%s %s %s", r.Method, r.Host, r.URL.Path))
	route, ok := h.routes[r.URL.Path]
	h.mu.Unlock()
	if !ok {
		route = Route{Status: http.StatusOK, Body: "origin " + r.Host + "\n"}
	}
	if route.Location != "" {
		w.Header().Set("Location", route.Location)
	}
	w.WriteHeader(route.Status)
	_, _ = io.WriteString(w, route.Body)
}

// answer answers one DNS question.
func (h *hosts) answer(w dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		return
	}
	question := q.Question[0]
	a := h.lookup(question)
	if a == nil {
		a = &Answer{RCode: dns.RcodeNameError}
	}
	if a.Silent {
		return
	}
	m := new(dns.Msg)
	m.SetRcode(q, a.RCode)
	m.RecursionAvailable = true
	m.Answer = records(question, a)
	_ = w.WriteMsg(m)
}

// lookup notes the question and returns the answer that is due for it.
func (h *hosts) lookup(q dns.Question) *Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.Queries = append(h.seen.Queries, q.Name+" "+dns.TypeToString[q.Qtype])
	name := strings.TrimSuffix(strings.ToLower(q.Name), ".")
	answers, ok := h.zone.Names[name]
	if !ok && h.zone.Default != nil {
		answers, ok = *h.zone.Default, true
	}
	if !ok || len(answers) == 0 {
		return nil
	}
	key := name + " " + dns.TypeToString[q.Qtype]
	i := min(h.used[key], len(answers)-1)
	h.used[key]++
	return &answers[i]
}

// records writes an answer as resource records.
func records(q dns.Question, a *Answer) []dns.RR {
	owner := q.Name
	var out []dns.RR
	add := func(kind, data string) {
		rr, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", owner, a.TTL, kind, data))
		if err == nil {
			out = append(out, rr)
		}
	}
	for _, alias := range a.CNAME {
		add("CNAME", dns.Fqdn(alias))
		owner = dns.Fqdn(alias)
	}
	switch q.Qtype {
	case dns.TypeA:
		for _, ip := range a.A {
			add("A", ip)
		}
	case dns.TypeAAAA:
		for _, ip := range a.AAAA {
			add("AAAA", ip)
		}
	case dns.TypeHTTPS:
		for _, ip := range a.Hint4 {
			add("HTTPS", "1 . ipv4hint="+ip)
		}
	}
	return out
}
