package world_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/test/world"
)

func TestMain(m *testing.M) {
	world.Main()
	os.Exit(m.Run())
}

// TestTwoHosts proves the rig: what it says was reached was reached, and the
// pod reaches nothing else.
func TestTwoHosts(t *testing.T) {
	n := world.New(t, new(world.Counter))
	n.Set(t, world.Zone{}, map[string]world.Route{"/moved": {Status: 302, Location: "http://elsewhere.example/"}})
	for _, target := range []string{"http://" + world.PublicV4 + "/", "http://[" + world.PublicV6 + "]:8080/"} {
		out, err := n.Pod("curl", "-sS", "-m", "5", target).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "origin ") {
			t.Errorf("curl %s: %v: %s", target, err, out)
		}
	}
	out, err := n.Pod("curl", "-sS", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", "http://"+world.PublicV4+"/moved").CombinedOutput()
	if err != nil || string(out) != "302" {
		t.Errorf("route: %v: %s", err, out)
	}
	seen := n.Seen(t)
	if len(seen.Requests) != 3 || seen.Connections < 3 {
		t.Errorf("the world saw %+v", seen)
	}
	if out, err := n.Pod("curl", "-sS", "-m", "2", "http://198.51.100.1/").CombinedOutput(); err == nil {
		t.Errorf("the pod reached an address that nobody owns: %s", out)
	}
}
