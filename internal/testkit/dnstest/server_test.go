package dnstest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/toolgate/toolgate/internal/testkit/dnstest"
)

// ask sends one question and returns the answer as text, or the error.
func ask(srv *dnstest.Server, network, name string, qtype uint16) string {
	c := dns.Client{Net: network, Timeout: 200 * time.Millisecond}
	m, _, err := c.Exchange(new(dns.Msg).SetQuestion(name, qtype), srv.Addr())
	if err != nil {
		return err.Error()
	}
	out := dns.RcodeToString[m.Rcode]
	if m.Truncated {
		out += " TC"
	}
	for _, rr := range m.Answer {
		switch rr := rr.(type) {
		case *dns.A:
			out += " " + rr.A.String()
		case *dns.AAAA:
			out += " " + rr.AAAA.String()
		case *dns.CNAME:
			out += " " + rr.Target
		default:
			out += fmt.Sprintf(" %T", rr)
		}
	}
	return out
}

func TestScripts(t *testing.T) {
	t.Parallel()
	const name = "www.example.com."
	for _, row := range []struct {
		name    string
		replies []dnstest.Reply
		ask     []string // "network type"
		want    []string
	}{
		{"a name that nobody scripted", nil, []string{"udp A"}, []string{"NXDOMAIN"}},
		{"nothing of that type", []dnstest.Reply{{}}, []string{"udp A"}, []string{"NOERROR"}},
		{
			"each type counts its own turns, and the last reply stays",
			[]dnstest.Reply{{Addrs: []string{"192.0.2.1", "2001:db8::1"}}, {Addrs: []string{"10.0.0.1"}}},
			[]string{"udp A", "udp AAAA", "udp A", "tcp A"},
			[]string{"NOERROR 192.0.2.1", "NOERROR 2001:db8::1", "NOERROR 10.0.0.1", "NOERROR 10.0.0.1"},
		},
		{
			"a truncated answer and the one over TCP are one turn",
			[]dnstest.Reply{{Addrs: []string{"192.0.2.1"}, Truncate: true}, {Addrs: []string{"10.0.0.1"}}},
			[]string{"udp A", "tcp A", "udp A"},
			[]string{"NOERROR TC", "NOERROR 192.0.2.1", "NOERROR 10.0.0.1"},
		},
		{
			"a chain",
			[]dnstest.Reply{{CNAME: []string{"a.example", "b.example"}, Addrs: []string{"192.0.2.1"}}},
			[]string{"udp A", "udp AAAA"},
			[]string{"NOERROR a.example. b.example. 192.0.2.1", "NOERROR a.example. b.example."},
		},
		{
			"a chain that is cut",
			[]dnstest.Reply{{CNAME: []string{"a.example", "b.example"}, CutChain: true}},
			[]string{"udp A"},
			[]string{"NOERROR a.example."},
		},
		{
			"HTTPS hints",
			[]dnstest.Reply{{Hints: &dnstest.Hints{IPv4: []string{"10.0.0.1"}, Port: 22}}},
			[]string{"udp HTTPS", "udp A"},
			[]string{"NOERROR *dns.HTTPS", "NOERROR"},
		},
		{"a response code", []dnstest.Reply{{Rcode: dns.RcodeRefused}}, []string{"tcp A"}, []string{"REFUSED"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := dnstest.New(t)
			if row.replies != nil {
				srv.Script(name, dnstest.Any, row.replies...)
			}
			var got []string
			for _, q := range row.ask {
				got = append(got, ask(srv, q[:3], name, dns.StringToType[q[4:]]))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if n := srv.AskedFor("WWW.example.com", dnstest.Any); n != len(row.ask) {
				t.Errorf("recorded %d of %d questions: %v", n, len(row.ask), srv.Asked())
			}
		})
	}
}

func TestScriptIsReplaced(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Addrs("a.example", "192.0.2.1")
	first := ask(srv, "udp", "A.example.", dns.TypeA)
	srv.Addrs("a.example", "192.0.2.2")
	srv.Script("a.example", dnstest.AAAA, dnstest.Reply{Addrs: []string{"2001:db8::2"}})
	got := []string{first, ask(srv, "udp", "a.example.", dns.TypeA), ask(srv, "udp", "a.example.", dns.TypeAAAA)}
	if want := []string{"NOERROR 192.0.2.1", "NOERROR 192.0.2.2", "NOERROR 2001:db8::2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if asked := srv.Asked(); asked[0].Name != "A.example." || asked[0].String() != "A.example. A udp" {
		t.Errorf("recorded %v: the case on the wire is kept", asked[0])
	}
}
