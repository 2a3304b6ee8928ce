package world

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// serverVariable makes a test binary become the world's servers.
const serverVariable = "TOOLGATE_TEST_WORLD"

// Zone is what the world's DNS server answers. Names are written without a
// final dot.
type Zone struct {
	Names   map[string]Name `json:"names"`
	Default *Name           `json:"default,omitempty"` // for any other name; nil answers NXDOMAIN
}

// Name is the answers for one name: one Answer a look-up, the last one repeats.
type Name []Answer

// Answer is what one look-up finds.
type Answer struct {
	A, AAAA []string `json:",omitempty"`
	CNAME   []string `json:",omitempty"` // aliases in order; A and AAAA belong to the last
	TTL     uint32   `json:",omitempty"`
	RCode   int      `json:",omitempty"`
	Silent  bool     `json:",omitempty"` // never answers
	Hint4   []string `json:",omitempty"` // ipv4hint of an HTTPS record
}

// Route is what an origin answers for a path: a status, a Location, a body.
type Route struct {
	Status   int
	Location string
	Body     string
}

// Seen is what reached the world since the zone was set.
type Seen struct {
	Queries     []string // "name. TYPE"
	Requests    []string // "METHOD host path" as the origin read them
	Connections int      // TCP connections to any port that listens
}

// order is a line to the servers; reply is their answer.
type order struct {
	Zone   *Zone            `json:"zone,omitempty"`
	Routes map[string]Route `json:"routes,omitempty"` // path -> answer
}

type reply struct {
	Seen  Seen
	Error string
}

// Main runs the world's servers, or a raw client, when this process was started
// to be one, and does not return then. A TestMain calls it first.
func Main() {
	var err error
	switch addr := os.Getenv(rawVariable); {
	case os.Getenv(serverVariable) != "":
		err = serve(os.Stdin, os.Stdout)
	case addr != "":
		err = raw(addr, os.Stdin, os.Stdout)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// server is the process that runs the world's servers.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex
}

func startServer(t testing.TB, n *Net) *server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", n.world, self)
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if _, err := s.ask(order{}); err != nil { // they stand once they answer
		t.Fatal(err)
	}
	return s
}

// ask sends one order and reads the reply.
func (s *server) ask(o order) (Seen, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, err := json.Marshal(o)
	if err != nil {
		return Seen{}, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return Seen{}, fmt.Errorf("world: %w", err)
	}
	text, err := s.out.ReadBytes('\n')
	if err != nil {
		return Seen{}, fmt.Errorf("world: %w", err)
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil {
		return Seen{}, err
	}
	if r.Error != "" {
		return Seen{}, fmt.Errorf("world: %s", r.Error)
	}
	return r.Seen, nil
}

// stop ends the servers: they leave when their input closes.
func (s *server) stop() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// Set gives the world a zone and routes, and forgets what was seen.
func (n *Net) Set(t testing.TB, z Zone, routes map[string]Route) {
	t.Helper()
	if routes == nil {
		routes = map[string]Route{}
	}
	if _, err := n.server.ask(order{Zone: &z, Routes: routes}); err != nil {
		t.Fatal(err)
	}
}

// Seen returns what reached the world since Set.
func (n *Net) Seen(t testing.TB) Seen {
	t.Helper()
	seen, err := n.server.ask(order{})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}
