package allowlist_test

import (
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

func TestScope(t *testing.T) {
	t.Parallel()
	inv := &allowlist.Inventory{
		Repositories: map[string][]string{"shop": {"web", "api"}},
		Sources:      map[string][]string{"loki": {"web"}, "prom": {"billing"}, "spare": {}},
	}
	job := decision.Facts{Job: "define_errors", Repository: "shop"}
	bound := decision.Facts{Repository: "shop"}
	a := compile(t, list())
	for name, row := range map[string]struct {
		facts decision.Facts
		args  decision.Arguments
		want  decision.Reason
	}{
		"its own repository":                      {job, decision.Arguments{"repository": "shop"}, decision.InScope},
		"another repository":                      {job, decision.Arguments{"repository": "other"}, decision.ScopeRepository},
		"one of its components":                   {job, decision.Arguments{"component": "api"}, decision.InScope},
		"another component":                       {job, decision.Arguments{"component": "billing"}, decision.ScopeComponent},
		"a source its components use":             {job, decision.Arguments{"source": "loki"}, decision.InScope},
		"a source nobody uses":                    {job, decision.Arguments{"source": "spare"}, decision.InScope},
		"a source others use":                     {job, decision.Arguments{"source": "prom"}, decision.ScopeDataSource},
		"an unknown source":                       {job, decision.Arguments{"source": "ghost"}, decision.ScopeDataSource},
		"a job without a repository":              {decision.Facts{Job: "define_errors"}, decision.Arguments{"repository": "shop"}, decision.ScopeRepository},
		"bound, its own":                          {bound, decision.Arguments{"repository": "shop"}, decision.InScope},
		"bound, another":                          {bound, decision.Arguments{"repository": "other"}, decision.ScopeRepository},
		"bound, components are free":              {bound, decision.Arguments{"component": "billing"}, decision.InScope},
		"free":                                    {decision.Facts{}, decision.Arguments{"repository": "other"}, decision.InScope},
		"a key that only looks like the argument": {job, decision.Arguments{"Repository": "other"}, decision.ScopeRepository},
		"two keys for one argument":               {job, decision.Arguments{"repository": "shop", "REPOSITORY": "other"}, decision.ScopeRepository},
		"a job of no repository, the empty name":  {decision.Facts{Job: "define_errors"}, decision.Arguments{"repository": ""}, decision.ScopeRepository},
		"bound, the empty name":                   {bound, decision.Arguments{"repository": ""}, decision.ScopeRepository},
		"the empty component":                     {job, decision.Arguments{"component": ""}, decision.ScopeComponent},
		"the empty source":                        {job, decision.Arguments{"source": ""}, decision.ScopeDataSource},
		"null":                                    {job, decision.Arguments{"repository": nil}, decision.ScopeRepository},
		"one argument out of scope is enough":     {job, decision.Arguments{"repository": "shop", "component": "api", "source": "prom"}, decision.ScopeDataSource},
		"not text":                                {job, decision.Arguments{"repository": []any{"shop"}}, decision.ScopeRepository},
	} {
		if v := a.CheckArguments("query_error_groups", &row.facts, row.args, inv); v.Reason != row.want {
			t.Errorf("%s: %v, want %v", name, v.Reason, row.want)
		}
	}
}

// TestScopeWithoutInventory: what is not written down belongs to no job.
func TestScopeWithoutInventory(t *testing.T) {
	t.Parallel()
	a := compile(t, list())
	job := decision.Facts{Job: "define_errors", Repository: "shop"}
	for arg, want := range map[string]decision.Reason{
		"repository": decision.InScope, "component": decision.ScopeComponent, "source": decision.ScopeDataSource,
	} {
		if v := a.CheckArguments("query_error_groups", &job, decision.Arguments{arg: "shop"}, nil); v.Reason != want {
			t.Errorf("%s: %v, want %v", arg, v.Reason, want)
		}
	}
}

// TestConditionsOfOneToolAllBind: each must be met, also on tools that no
// registry holds.
func TestConditionsOfOneToolAllBind(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"load_skill", "mcp__pg__query", "get_build"} {
		a := compile(t, with(list(), func(s *allowlist.AgentSpec) {
			s.HTTPTools = named("get_build")
			s.Conditions = []allowlist.Condition{
				{Tool: allowlist.Named{Name: tool}, Arg: "a", Test: allowlist.TestExact, Want: []string{"1"}, Text: "first"},
				{Tool: allowlist.Named{Name: tool}, Arg: "b", Test: allowlist.TestExact, Want: []string{"2"}, Text: "second"},
			}
		}))
		for rule, args := range map[string]decision.Arguments{
			"": {"a": "1", "b": "2"}, "first": {"a": "x", "b": "2"}, "second": {"a": "1"},
		} {
			if v := a.CheckArguments(tool, &decision.Facts{}, args, nil); v.Rule != rule || v.Reason.Allows() != (rule == "") {
				t.Errorf("%s with %v: %v by rule %q, want rule %q", tool, args, v.Reason, v.Rule, rule)
			}
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	type test = allowlist.Condition
	glob := func(pattern string) test { return test{Test: allowlist.TestGlob, Want: []string{pattern}} }
	under := func(folder string) test { return test{Test: allowlist.TestUnder, Want: []string{folder}} }
	onHost := func(v string) bool { return strings.HasSuffix(v, ".example.com") }
	for name, row := range map[string]struct {
		cond test
		args decision.Arguments
		want bool
	}{
		"exact":                       {test{Test: allowlist.TestExact, Want: []string{"a"}}, decision.Arguments{"x": "a"}, true},
		"not exact":                   {test{Test: allowlist.TestExact, Want: []string{"a"}}, decision.Arguments{"x": "A"}, false},
		"missing":                     {test{Test: allowlist.TestExact, Want: []string{"a"}}, decision.Arguments{}, false},
		"a number by its spelling":    {test{Test: allowlist.TestExact, Want: []string{"5"}}, decision.Arguments{"x": 5.0}, true},
		"null":                        {test{Test: allowlist.TestPrefix, Want: []string{""}}, decision.Arguments{"x": nil}, false},
		"two keys":                    {test{Test: allowlist.TestExact, Want: []string{"a"}}, decision.Arguments{"x": "a", "X": "b"}, false},
		"one of":                      {test{Test: allowlist.TestOneOf, Want: []string{"a", "b"}}, decision.Arguments{"x": "b"}, true},
		"none of":                     {test{Test: allowlist.TestOneOf, Want: []string{"a", "b"}}, decision.Arguments{"x": "c"}, false},
		"prefix":                      {test{Test: allowlist.TestPrefix, Want: []string{"a/"}}, decision.Arguments{"x": "a/b"}, true},
		"glob, one level":             {test{Test: allowlist.TestGlob, Want: []string{"src/*.go"}}, decision.Arguments{"x": "src/a.go"}, true},
		"glob stays on its level":     {test{Test: allowlist.TestGlob, Want: []string{"src/*.go"}}, decision.Arguments{"x": "src/a/b.go"}, false},
		"glob, any depth":             {test{Test: allowlist.TestGlob, Want: []string{"src/**.go"}}, decision.Arguments{"x": "src/a/b.go"}, true},
		"glob, one character":         {test{Test: allowlist.TestGlob, Want: []string{"a?c"}}, decision.Arguments{"x": "abc"}, true},
		"glob matches the whole text": {test{Test: allowlist.TestGlob, Want: []string{"a"}}, decision.Arguments{"x": "ab"}, false},
		"glob, one character of two":  {glob("a?c"), decision.Arguments{"x": "a\u00e9c"}, true},
		"glob, one is not none":       {glob("a?c"), decision.Arguments{"x": "ac"}, false},
		"glob, one is no slash":       {glob("a?c"), decision.Arguments{"x": "a/c"}, false},
		"glob of no valid text":       {glob("*"), decision.Arguments{"x": "\xff"}, false},
		"glob, climbing out":          {glob("src/**"), decision.Arguments{"x": "src/../secret"}, false},
		"glob, climbing in disguise":  {glob("src/**"), decision.Arguments{"x": "src/%2E%2e%2fsecret"}, false},
		"glob, climbing backwards":    {glob("src/**"), decision.Arguments{"x": `src\..\secret`}, false},
		"glob, backwards in disguise": {glob("src/**"), decision.Arguments{"x": "src/%5C..%5csecret"}, false},
		"glob, another percent":       {glob("src/**"), decision.Arguments{"x": "src/%41.."}, true},
		"a truth value":               {test{Test: allowlist.TestExact, Want: []string{"true"}}, decision.Arguments{"x": true}, true},
		"a list of one":               {test{Test: allowlist.TestExact, Want: []string{"a"}}, decision.Arguments{"x": []any{"a"}}, false},
		"glob, dots in a name":        {glob("src/**"), decision.Arguments{"x": "src/a..b/...c"}, true},
		"glob, more text than tried":  {glob("**"), decision.Arguments{"x": strings.Repeat("a", 5000)}, false},
		"prefix, climbing out":        {test{Test: allowlist.TestPrefix, Want: []string{"src/"}}, decision.Arguments{"x": "src/.."}, false},
		"prefix, more of the name":    {test{Test: allowlist.TestPrefix, Want: []string{"src"}}, decision.Arguments{"x": "srcs"}, true},
		"under":                       {test{Test: allowlist.TestUnder, Want: []string{"/site"}}, decision.Arguments{"x": "/site/a"}, true},
		"the folder itself":           {test{Test: allowlist.TestUnder, Want: []string{"/site"}}, decision.Arguments{"x": "/site"}, true},
		"climbing out":                {test{Test: allowlist.TestUnder, Want: []string{"/site"}}, decision.Arguments{"x": "/site/../etc"}, false},
		"a longer name":               {test{Test: allowlist.TestUnder, Want: []string{"/site"}}, decision.Arguments{"x": "/siteshop"}, false},
		"relative for absolute":       {test{Test: allowlist.TestUnder, Want: []string{"/site"}}, decision.Arguments{"x": "site/a"}, false},
		"relative":                    {test{Test: allowlist.TestUnder, Want: []string{"."}}, decision.Arguments{"x": "a/b"}, true},
		"relative, climbing out":      {test{Test: allowlist.TestUnder, Want: []string{"."}}, decision.Arguments{"x": "a/../../b"}, false},
		"the root holds all":          {test{Test: allowlist.TestUnder, Want: []string{"/"}}, decision.Arguments{"x": "/etc"}, true},
		"a NUL ends the path":         {test{Test: allowlist.TestUnder, Want: []string{"/site"}}, decision.Arguments{"x": "/site/\x00"}, false},
		"a newline":                   {under("/site"), decision.Arguments{"x": "/site/a\n/etc"}, false},
		"a backslash":                 {under("/site"), decision.Arguments{"x": `/site/..\..\etc`}, false},
		"dots in percents":            {under("/site"), decision.Arguments{"x": "/site/%2e%2e/etc"}, false},
		"a home":                      {under("."), decision.Arguments{"x": "~root/.ssh"}, false},
		"a URL is no relative path":   {under("."), decision.Arguments{"x": "file:///etc/passwd"}, false},
		"a drive is no relative path": {under("."), decision.Arguments{"x": "c:/windows"}, false},
		"a colon later on":            {under("."), decision.Arguments{"x": "a/b:c"}, true},
		"the parent":                  {under(".."), decision.Arguments{"x": "../a"}, true},
		"above the parent":            {under(".."), decision.Arguments{"x": "../../a"}, false},
		"below what is not there":     {under("/site/"), decision.Arguments{"x": "//site//./a/"}, true},
		"empty":                       {under("."), decision.Arguments{"x": ""}, false},
		"host":                        {test{Test: allowlist.TestHost, Host: onHost}, decision.Arguments{"x": "a.example.com"}, true},
		"another host":                {test{Test: allowlist.TestHost, Host: onHost}, decision.Arguments{"x": "a.example.org"}, false},
		"no test holds for nothing":   {test{}, decision.Arguments{"x": "a"}, false},
	} {
		row.cond.Tool, row.cond.Arg = allowlist.Named{Name: "fetch_url"}, "x"
		a := compile(t, with(list(), func(s *allowlist.AgentSpec) { s.Conditions = []allowlist.Condition{row.cond} }))
		v := a.CheckArguments("fetch_url", &decision.Facts{}, row.args, nil)
		if v.Reason.Allows() != row.want || !row.want && v.Reason != decision.ArgumentNotAllowed {
			t.Errorf("%s: %v, want met=%t", name, v.Reason, row.want)
		}
		if v := a.CheckArguments("read_file", &decision.Facts{}, decision.Arguments{}, nil); !v.Reason.Allows() {
			t.Errorf("%s: the condition binds another tool: %v", name, v.Reason)
		}
	}
}
