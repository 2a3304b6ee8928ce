package config

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// codec decodes a type that is not written as its Go kind suggests.
type codec struct {
	decode func(d *decoder, n *yaml.Node, v reflect.Value, path string)
	shape  func(s shaper) Shape
}

// codecs returns the types that have a way of their own.
func codecs() map[reflect.Type]codec {
	return map[reflect.Type]codec{
		reflect.TypeFor[allowlist.Named](): {decodeNamed, fixed(Shape{Kind: KindText, What: "a name"})},
		reflect.TypeFor[Names]():           {decodeNames, listOf("a name")},
		reflect.TypeFor[ServerGrants]():    {decodeServerGrants, shapeServerGrants},
		reflect.TypeFor[Address]():         {decodeAddress, fixed(Shape{Kind: KindText, What: "host:port"})},
		reflect.TypeFor[CommandRule]():     {decodeCommandRule, shapeCommandRule},
		reflect.TypeFor[Source]():          {decodeSource, listOf("a component")},
		reflect.TypeFor[Host]():            {decodeHost, listOf("an IP address")},
		reflect.TypeFor[Variable]():        {decodeVariable, fixed(Shape{Kind: KindText, What: "text"})},
		reflect.TypeFor[alias]():           {decodeAlias, fixed(Shape{Kind: KindText, What: "a name"})},
		reflect.TypeFor[uint16]():          {decodePort, fixed(Shape{Kind: KindNumber, What: "a port"})},
		reflect.TypeFor[terminal.Rule]():   parsed("a command rule", parseRule),
		reflect.TypeFor[urlguard.Pattern](): parsed("a host, or *.domain, either with :port",
			func(s string) (urlguard.Pattern, error) { return urlguard.ParsePattern(s) }),
		reflect.TypeFor[netip.Prefix]():  parsed("a range such as 10.1.2.0/24", parsePrefix),
		reflect.TypeFor[time.Duration](): parsed("a duration such as 10s", parseDuration),

		reflect.TypeFor[decision.Mode]():      enum(choice("enforce", decision.Enforce), choice("report", decision.Report)),
		reflect.TypeFor[terminal.Mode]():      enum(choice("allowlist", terminal.ModeAllowlist), choice("blocklist", terminal.ModeBlocklist), choice("off", terminal.ModeOff)),
		reflect.TypeFor[terminal.Redirects](): enum(choice("none", terminal.RedirectsNone), choice("workspace", terminal.RedirectsWorkspace), choice("any", terminal.RedirectsAny)),
		reflect.TypeFor[Require](): enum(choice("none", RequireNone),
			later("landlock", RequireLandlock), later("landlock+noexec", RequireLandlockNoexec)),
		reflect.TypeFor[DataEval]():  enum(choice("refuse", DataRefuse), later("gated", DataGated)),
		reflect.TypeFor[Level]():     enum(choice("debug", LevelDebug), choice("info", LevelInfo), choice("warn", LevelWarn), choice("error", LevelError)),
		reflect.TypeFor[LogFormat](): enum(choice("json", LogJSON)),
		reflect.TypeFor[OnFull]():    enum(choice("deny", FullDeny), choice("drop", FullDrop)),
		reflect.TypeFor[Narrowing](): enum(choice("none", NarrowNone), choice("subtract", NarrowSubtract)),
		reflect.TypeFor[Scope]():     enum(choice("listed", ScopeListed), choice("all", ScopeAll)),
		reflect.TypeFor[Provider](): enum(choice("claude-cli", ProviderClaudeCLI), choice("claude-tmux", ProviderClaudeTmux),
			choice("codex-cli", ProviderCodexCLI), choice("openai-api", ProviderOpenAI), choice("anthropic", ProviderAnthropic)),
	}
}

func fixed(shape Shape) func(shaper) Shape { return func(shaper) Shape { return shape } }

func listOf(what string) func(shaper) Shape {
	return fixed(Shape{Kind: KindList, Elem: &Shape{Kind: KindText, What: what}})
}

// parsed is the codec of a text that parse understands.
func parsed[T any](what string, parse func(string) (T, error)) codec {
	return codec{
		func(d *decoder, n *yaml.Node, v reflect.Value, path string) {
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
				d.problem(n, path, "expected "+what+", found "+kindOf(n), "")
				return
			}
			text, ok := d.text(n, path)
			if !ok {
				return
			}
			value, err := parse(text)
			if err != nil {
				d.problem(n, path, plainError(err), "")
				return
			}
			v.Set(reflect.ValueOf(value))
		},
		fixed(Shape{Kind: KindText, What: what}),
	}
}

// option is one value of an enumeration.
type option[T any] struct {
	text  string
	value T
	later bool // known, and refused today
}

func choice[T any](text string, value T) option[T] { return option[T]{text, value, false} }

func later[T any](text string, value T) option[T] { return option[T]{text, value, true} }

// enum is the codec of a closed list of words.
func enum[T any](options ...option[T]) codec {
	var words []string
	for _, o := range options {
		if !o.later {
			words = append(words, o.text)
		}
	}
	return codec{
		func(d *decoder, n *yaml.Node, v reflect.Value, path string) {
			text, ok := d.text(n, path)
			if !ok {
				return
			}
			for _, o := range options {
				switch {
				case o.text != text:
				case o.later:
					d.problem(n, path, text+" is not built yet", "write "+oneOf(words))
					return
				default:
					v.Set(reflect.ValueOf(o.value))
					return
				}
			}
			d.problem(n, path, "unknown value "+decision.Quote(text), instead(text, words))
		},
		fixed(Shape{Kind: KindText, Choices: words}),
	}
}

func decodeNamed(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	if text == "" {
		d.problem(n, path, "the text is empty", "write a name, or remove the key")
		return
	}
	v.Set(reflect.ValueOf(allowlist.Named{Name: text, Pos: d.at(n)}))
}

func decodeNames(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	var items []allowlist.Named
	d.list(n, reflect.ValueOf(&items).Elem(), path)
	v.Set(reflect.ValueOf(Names{Set: true, Pos: d.at(n), Items: items}))
}

func decodeAddress(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	if text, ok := d.text(n, path); ok {
		v.Set(reflect.ValueOf(Address{Text: text, Pos: d.at(n)}))
	}
}

// decodeServerGrants reads [server, …] or {server: [tool, …], …}.
func decodeServerGrants(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	g := ServerGrants{Set: true, Pos: d.at(n)}
	switch n.Kind { //nolint:exhaustive // no other kind is a list or a mapping
	case yaml.SequenceNode:
		var names Names
		decodeNames(d, n, reflect.ValueOf(&names).Elem(), path)
		for _, name := range names.Items {
			g.Items = append(g.Items, ServerGrant{Server: name})
		}
	case yaml.MappingNode:
		d.pairs(n, path, func(key, val *yaml.Node, sub string) {
			grant := ServerGrant{Server: allowlist.Named{Name: key.Value, Pos: d.at(key)}}
			d.value(val, reflect.ValueOf(&grant.Tools).Elem(), sub)
			g.Items = append(g.Items, grant)
		})
	default:
		d.problem(n, path, "expected a list or a mapping, found "+kindOf(n), "write [server] or {server: [tool]}")
	}
	v.Set(reflect.ValueOf(g))
}

func shapeServerGrants(shaper) Shape {
	names := Shape{Kind: KindList, Elem: &Shape{Kind: KindText, What: "a name"}}
	tools := names
	names.Or = &Shape{Kind: KindNames, Elem: &tools}
	return names
}

// decodeCommandRule reads a rule: its text, or a mapping with more.
func decodeCommandRule(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	rule, ok := reflect.TypeAssert[*CommandRule](v.Addr())
	if !ok {
		return
	}
	if n.Kind == yaml.ScalarNode {
		rule.Pos = d.at(n)
		d.value(n, reflect.ValueOf(&rule.Cmd).Elem(), path)
	} else {
		d.mapping(n, v, path)
	}
	rule.Cmd.Why, rule.Cmd.Children, rule.Cmd.Pos = rule.Why, rule.Children, rule.Pos
}

func shapeCommandRule(s shaper) Shape {
	long := s.mapping(reflect.TypeFor[CommandRule]())
	return Shape{Kind: KindText, What: "a command rule", Or: &long}
}

func decodeSource(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	d.value(n, v.FieldByName("Components"), path)
}

func decodeHost(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	var names Names
	decodeNames(d, n, reflect.ValueOf(&names).Elem(), path)
	var addrs []netip.Addr
	for i, name := range names.Items {
		a, err := netip.ParseAddr(name.Name)
		switch {
		case name.Name == "": // told already
		case err != nil || a.Zone() != "":
			d.problem(n.Content[i], path, decision.Quote(name.Name)+" is not an IP address", "write one such as 192.0.2.1 or 2001:db8::1")
		default:
			addrs = append(addrs, a)
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.problem(n, path, "a name without addresses", "write one, or remove the name")
	}
	v.FieldByName("Addrs").Set(reflect.ValueOf(addrs))
}

func decodeVariable(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	if text, ok := d.text(n, path); ok {
		v.FieldByName("Value").SetString(text)
	}
}

func decodePort(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	port, ok := d.number(n, path)
	switch {
	case !ok:
	case port < 1 || port > 65535:
		d.problem(n, path, "port "+n.Value+" does not exist", "write a number from 1 to 65535")
	default:
		v.SetUint(uint64(port))
	}
}

// plainError is the message of a parser without the name of its package.
func plainError(err error) string {
	text := strings.TrimPrefix(err.Error(), "terminal: ")
	return strings.TrimPrefix(text, "urlguard: ")
}

func parseRule(s string) (terminal.Rule, error) { return terminal.ParseRule(s) }

func parseDuration(s string) (time.Duration, error) {
	t, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New(decision.Quote(s) + " is not a duration; write a number and a unit, as in 500ms, 10s or 2m")
	}
	return t, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil && !strings.Contains(s, "/"):
		return p, errors.New(decision.Quote(s) + " is not a range; write address/bits, as in 10.1.2.0/24")
	case err != nil:
		return p, errors.New(decision.Quote(s) + " is not a range; write one such as 10.1.2.0/24")
	case p.Addr().Is4In6():
		return p, errors.New(decision.Quote(s) + " is an IPv4 range in IPv6 clothes; write the IPv4 range")
	case p != p.Masked():
		return p, errors.New(decision.Quote(s) + " has bits behind the range; write " + p.Masked().String())
	}
	return p, nil
}

func decodeAlias(d *decoder, n *yaml.Node, v reflect.Value, path string) {
	d.value(n, v.FieldByName("Tool"), path)
}
