// Package world gives tests two hosts that are not this one: a pod, in which
// toolgate and its clients run, and the world, which owns public addresses,
// answers DNS and serves HTTP. They are network namespaces joined by a veth
// pair; nothing in them reaches the machine's own network. So the real binary,
// with nothing presented to it, is tested against real public addresses.
//
// It needs root and iproute2. Without them a test that calls New is skipped,
// except in CI (the variable CI is set), where it fails.
package world

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// The addresses of the two hosts.
const (
	PodAddr   = "198.18.0.2"       // the pod's own, which nothing may dial
	DNSAddr   = "93.184.216.53"    // the world's DNS server, port 53
	PublicV4  = "93.184.216.34"    // an origin
	PublicV6  = "2606:2800:220::1" // an origin
	podAddrV6 = "2606:2800:221::2"
)

// Net is a pair of hosts for one test.
type Net struct {
	pod, world string
	server     *server
	atEnd      []func()
}

// New makes the two hosts and starts the world's servers. addrs are the
// addresses that the world owns beside PublicV4 and PublicV6; every one of them
// serves HTTP on the ports 80, 443, 3000, 8080 and 8443.
func New(t testing.TB, counter *Counter, addrs ...string) *Net {
	t.Helper()
	require(t, os.Geteuid() == 0, "root")
	_, err := exec.LookPath("ip")
	require(t, err == nil, "ip (iproute2)")
	id := fmt.Sprintf("%d-%d", os.Getpid(), counter.n.Add(1))
	n := &Net{pod: "tgpod-" + id, world: "tgworld-" + id}
	t.Cleanup(func() { n.close(t) })
	owned := append([]string{DNSAddr, PublicV4, PublicV6}, addrs...)
	for _, step := range n.plan(owned) {
		if out, err := exec.Command("ip", strings.Fields(step)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", step, err, out)
		}
	}
	n.server = startServer(t, n)
	return n
}

// Counter numbers the networks of one test process.
type Counter struct{ n atomic.Int64 }

// require skips, or fails in CI, where something is missing.
func require(t testing.TB, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("this test needs %s", what)
	}
	t.Skipf("this test needs %s", what)
}

// plan lists the calls of ip that make the two hosts.
func (n *Net) plan(owned []string) []string {
	steps := []string{
		"netns add " + n.pod,
		"netns add " + n.world,
		"link add pod0 netns " + n.pod + " type veth peer name world0 netns " + n.world,
		"-n " + n.pod + " link set lo up",
		"-n " + n.world + " link set lo up",
		"-n " + n.pod + " link set pod0 up",
		"-n " + n.world + " link set world0 up",
		"-n " + n.pod + " addr add " + PodAddr + "/32 dev pod0",
		"-n " + n.pod + " -6 addr add " + podAddrV6 + "/128 dev pod0 nodad",
		"-n " + n.pod + " route add default dev pod0",
		"-n " + n.pod + " -6 route add default dev pod0",
		"-n " + n.world + " route add " + PodAddr + "/32 dev world0",
		"-n " + n.world + " -6 route add " + podAddrV6 + "/128 dev world0",
	}
	for _, a := range owned {
		if strings.Contains(a, ":") {
			steps = append(steps, "-n "+n.world+" -6 addr add "+a+"/128 dev world0 nodad")
		} else {
			steps = append(steps, "-n "+n.world+" addr add "+a+"/32 dev world0")
		}
	}
	return steps
}

// close ends the servers and removes the hosts.
func (n *Net) close(t testing.TB) {
	t.Helper()
	for _, end := range n.atEnd {
		end()
	}
	if n.server != nil {
		n.server.stop()
	}
	for _, ns := range []string{n.pod, n.world} {
		if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
			t.Logf("ip netns del %s: %v: %s", ns, err, out)
		}
	}
}

// AtEnd calls f before the hosts go away.
func (n *Net) AtEnd(f func()) { n.atEnd = append(n.atEnd, f) }

// Pod returns a command that runs in the pod.
func (n *Net) Pod(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.pod, name}, args...)...)
}
