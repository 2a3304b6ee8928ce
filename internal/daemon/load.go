package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/policy"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// EmbeddedName is what positions in the embedded configuration carry.
const EmbeddedName = "embedded:toolgate.yaml"

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 1 << 20

// PolicyOptions says where a policy comes from and what it may rely on.
type PolicyOptions struct {
	// Path of the configuration file; empty for the embedded default.
	Path string
	// Loopback is what ALLOW_LOOPBACK_TOOL_URLS says.
	Loopback bool
	// Addresses classifies addresses; nil for the built-in registries. Only
	// tests pass another table.
	Addresses *ipclass.Table
	// Self reports toolgate's own listeners. Nil: those that the file names.
	Self func(netip.AddrPort) bool
	// Observer is told of DNS questions; it may be nil.
	Observer pin.Observer
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// Policy is a loaded and compiled policy.
type Policy struct {
	Document *config.Document
	Snapshot *policy.Snapshot
	Lints    config.Problems
}

// LoadPolicy reads, checks and compiles a policy. It is the one way in for the
// daemon and for every command. The error is a config.Problems where the file
// is to blame.
func LoadPolicy(o PolicyOptions) (*Policy, error) {
	name, data, err := readConfig(o.Path)
	if err != nil {
		return nil, err
	}
	return compile(o, name, data)
}

// ConfigError says that the configuration could not be read at all.
type ConfigError struct{ Err error }

// Error implements error.
func (e *ConfigError) Error() string { return "daemon: configuration: " + e.Err.Error() }

// Unwrap returns what lies under e.
func (e *ConfigError) Unwrap() error { return e.Err }

// readConfig returns the text of the configuration and its name.
func readConfig(path string) (string, []byte, error) {
	if path == "" {
		return EmbeddedName, configs.Default(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return path, nil, &ConfigError{err}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return path, nil, &ConfigError{err}
	}
	return path, data, nil // the reader of the document refuses one that is too long
}

// Catalogue returns the built-in catalogue.
func Catalogue() (*allowlist.Catalogue, error) {
	data, problems := config.LoadCatalogue("embedded:catalogue.yaml", configs.Catalogue())
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("daemon: built-in catalogue: %w", err)
	}
	return data.Ready, nil
}

// asProblems turns problems of a compiler into those of a document.
func asProblems(list []allowlist.Problem) config.Problems {
	var out config.Problems
	for _, p := range list {
		out = append(out, config.Problem{Pos: p.Pos, Message: p.Message, Fix: p.Fix})
	}
	return out
}

// compile turns the text of a configuration into a policy.
func compile(o PolicyOptions, name string, data []byte) (*Policy, error) {
	catalogue, err := Catalogue()
	if err != nil {
		return nil, err
	}
	doc, lints, problems := config.LoadWithLints(name, data, catalogue)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	names, err := newResolver(o, doc)
	if err != nil {
		return nil, err
	}
	addresses := o.Addresses
	if addresses == nil {
		if addresses, err = ipclass.New(); err != nil {
			return nil, err
		}
	}
	self := o.Self
	if self == nil {
		self = configuredAddresses(doc)
	}
	snapshot, bad, err := policy.Compile(policy.Options{
		Document: doc, Catalogue: catalogue, Revision: revision(data), Addresses: addresses,
		Resolver: names, Loopback: o.Loopback, Self: self, Programs: trustedPath{},
	})
	if len(bad) > 0 {
		return nil, asProblems(bad)
	}
	if err != nil {
		return nil, err
	}
	return &Policy{Document: doc, Snapshot: snapshot, Lints: lints}, nil
}

// revision identifies a policy by what it is made of.
func revision(document []byte) string {
	h := sha256.New()
	h.Write(document)
	h.Write(configs.Catalogue())
	return "sha256:" + hex.EncodeToString(h.Sum(nil))[:16]
}

// configuredAddresses knows the listeners that a document names, for questions
// that are asked without a running daemon.
func configuredAddresses(doc *config.Document) func(netip.AddrPort) bool {
	own := &ownAddresses{local: interfaceAddresses}
	var bound []netip.AddrPort
	for _, a := range []config.Address{doc.Listen.API, doc.Listen.Proxy, doc.Listen.Metrics} {
		if p, ok := a.AddrPort(); ok && p.Port() != 0 {
			bound = append(bound, p)
		}
	}
	own.store(bound)
	return own.is
}

// resolver adapts package pin to what the decision point asks.
type resolver struct {
	pins *pin.Resolver
}

// newResolver makes the resolver that a document describes.
func newResolver(o PolicyOptions, doc *config.Document) (*resolver, error) {
	r := &doc.Egress.Resolver
	hosts := make(map[string][]netip.Addr, len(r.Hosts))
	for _, h := range r.Hosts {
		hosts[h.Name] = h.Addrs
	}
	pins, err := pin.NewResolver(pin.Options{
		Servers: r.Servers, Timeout: r.Timeout, Hosts: hosts, Names: nameCheck(doc), Now: o.Now, Observer: o.Observer,
	})
	if err != nil {
		return nil, fmt.Errorf("daemon: egress.resolver: %w", err)
	}
	return &resolver{pins}, nil
}

// Lookup implements policy.Resolver. When a look-up failed on the way along
// aliases, one of them that may not be looked up names the reason.
func (r *resolver) Lookup(ctx context.Context, host string) (policy.Answer, error) {
	a, err := r.pins.Lookup(ctx, host)
	if failed, ok := errors.AsType[*pin.DNSError](err); ok {
		for _, alias := range failed.Chain {
			if reason := urlguard.NameReason(alias); reason != decision.URLOK {
				return policy.Answer{}, &nameError{alias, reason}
			}
		}
	}
	return policy.Answer{Addrs: a.Addrs, Chain: a.Chain}, err
}

// nameError refuses a name that may not be looked up.
type nameError struct {
	name   string
	reason decision.Reason
}

// Error implements error.
func (e *nameError) Error() string { return fmt.Sprintf("%q is not looked up: %s", e.name, e.reason) }

// DecisionReason is the reason of the refusal.
func (e *nameError) DecisionReason() decision.Reason { return e.reason }

// nameCheck refuses names that must not leave the machine in a DNS question,
// except those that the document opens on purpose. Where some agent is only
// reported on, its names have to be asked for.
func nameCheck(doc *config.Document) func(string) error {
	reporting := doc.Mode == decision.Report
	for i := range doc.Agents {
		reporting = reporting || doc.Agents[i].Mode != nil && *doc.Agents[i].Mode == decision.Report
	}
	return func(name string) error {
		reason := urlguard.NameReason(name)
		if reason == decision.URLOK || reporting && !reason.Always() {
			return nil
		}
		for _, p := range doc.Egress.AllowPrivate {
			if reason == decision.URLInternal && p.Host.Match(decision.Endpoint{Host: name, Port: p.Host.Port()}) {
				return nil
			}
		}
		return &nameError{name, reason}
	}
}
