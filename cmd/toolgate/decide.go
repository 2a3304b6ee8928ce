package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolgate/toolgate/internal/api"
	"github.com/toolgate/toolgate/internal/daemon"
	"github.com/toolgate/toolgate/internal/decision"
)

type decideCmd struct {
	configFlag
	factFlags
	Agent string   `short:"a" placeholder:"NAME" help:"Agent that asks; without it, the one of egress.anonymous."`
	Tool  string   `placeholder:"NAME" help:"For url and command: the tool that dials or runs."`
	Hop   []string `placeholder:"URL" help:"For url: where a redirect leads; repeat for each hop."`
	JSON  bool     `help:"Print the AuthZEN answer."`
	Args  []string `arg:"" name:"what" help:"tool NAME [ARGUMENTS-JSON], url URL, command SCRIPT, mcp_server NAME, or - to read AuthZEN requests as JSON lines."`
}

// Help is shown below the flags.
func (c *decideCmd) Help() string {
	return `The answer comes from the same compiled policy and function that the daemon uses.
Exit code 0: allowed; 3: denied; 2: wrong usage or bad configuration.

  toolgate decide tool read_file
  toolgate decide --agent reviewer tool Bash '{"command": "ls"}'
  toolgate decide command 'git status && git diff'
  toolgate decide --tool fetch_url url http://169.254.169.254/`
}

func (c *decideCmd) Run(e *env) error {
	p, err := c.load(e)
	if err != nil {
		return err
	}
	if len(c.Args) == 1 && c.Args[0] == "-" {
		return answerLines(e, p)
	}
	req, err := c.request(p)
	if err != nil {
		return err
	}
	d := p.Snapshot.Decide(e.ctx, req)
	if c.JSON {
		_, err = e.stdout.Write(append(api.EncodeAnswer(nil, &d), '\n'))
	} else {
		s := newScreen(e.stdout, e.getenv)
		printDecision(s, req, &d)
		err = s.err
	}
	if err != nil {
		return err
	}
	if !d.Allowed() {
		return &exitError{exitDenied, nil}
	}
	return nil
}

// request turns the words of the command line into a question.
func (c *decideCmd) request(p *daemon.Policy) (*decision.Request, error) {
	if len(c.Args) < 2 {
		return nil, usageError("say what to decide on\nhint: tool NAME [ARGUMENTS-JSON], url URL or command SCRIPT")
	}
	kind, ok := decision.ParseKind(c.Args[0])
	if !ok {
		return nil, usageError("%q is nothing to decide on\nhint: write tool, url, command or mcp_server", c.Args[0])
	}
	switch {
	case len(c.Hop) > 0 && kind != decision.KindURL:
		return nil, usageError("--hop is for url only\nhint: leave it out")
	case c.Tool != "" && kind != decision.KindURL && kind != decision.KindCommand:
		return nil, usageError("--tool is for url and command only\nhint: write tool %s", plain(c.Tool))
	}
	agent, err := agentOrDefault(c.Agent, p)
	if err != nil {
		return nil, err
	}
	req := &decision.Request{
		Agent: agent, Version: c.Version, Facts: c.facts(), Tool: c.Tool, Proven: true, Hops: c.Hop,
		Resource: decision.Resource{Kind: kind, ID: c.Args[1]},
	}
	if req.Tool == "" && kind == decision.KindURL && c.Agent == "" && p.Document.Egress.Anonymous != nil {
		req.Tool = p.Document.Egress.Anonymous.Tool.Name
	}
	switch {
	case kind == decision.KindTool && len(c.Args) == 3:
		if req.Arguments, err = arguments(c.Args[2]); err != nil {
			return nil, err
		}
	case len(c.Args) > 2:
		return nil, usageError("%q is too much\nhint: quote the whole %s", c.Args[2], kind)
	}
	return req, nil
}

// arguments reads a JSON object with the decoder of the decision API, which
// refuses what two parsers could read differently.
func arguments(text string) (decision.Arguments, error) {
	if !json.Valid([]byte(text)) {
		return nil, usageError("the arguments are not JSON: %s", decision.Quote(text))
	}
	line := `{"subject":{"type":"agent","id":"a"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":"t","properties":{"arguments":` + text + `}}}`
	req, err := api.DecodeEvaluation([]byte(line))
	if err != nil {
		return nil, usageError("the arguments: %v", err)
	}
	return req.Arguments, nil
}

// maxLine bounds one request of "decide -", in bytes.
const maxLine = 1 << 20

// answerLines answers AuthZEN requests, one a line, in their order. A line that
// cannot be read is answered with bad_request.
func answerLines(e *env, p *daemon.Policy) error {
	in := bufio.NewReaderSize(e.stdin, 64<<10)
	out := bufio.NewWriter(e.stdout)
	var answer []byte
	for {
		line, err := readLine(in)
		if len(strings.TrimSpace(string(line))) > 0 {
			d := answerLine(e, p, line)
			answer = append(api.EncodeAnswer(answer[:0], &d), '\n')
			if _, err := out.Write(answer); err != nil {
				return err
			}
		}
		if in.Buffered() == 0 || err != nil { // whoever asks one by one waits for this
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answerLine answers one request.
func answerLine(e *env, p *daemon.Policy, line []byte) decision.Decision {
	if len(line) > maxLine {
		return decision.Refuse(decision.BadRequest, decision.GuardTool, "the line is longer than 1 MiB")
	}
	req, err := api.DecodeEvaluation(line)
	if err != nil {
		return api.Refusal(req, err)
	}
	return p.Snapshot.Decide(e.ctx, req)
}

// readLine reads up to a line end. Of a line that is too long it keeps just
// enough to tell.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// printDecision says a decision to a person.
func printDecision(s *screen, req *decision.Request, d *decision.Decision) {
	verdict, code := "deny ", red
	if d.Allowed() {
		verdict, code = "allow", green
	}
	what := plain(req.Resource.ID)
	if req.Tool != "" {
		what = plain(req.Tool) + " → " + what
	}
	s.line("%s  %s  %s", s.paint(code, verdict), d.Reason, cut(what, max(s.width-len(d.Reason.String())-9, 20)))
	if d.Would {
		s.indent("Report mode lets it through; enforced, it would be refused:")
	}
	s.indent(d.AdminText())
	if d.Hop > 0 {
		s.indent(fmt.Sprintf("The reason is about redirect %d of the chain.", d.Hop))
	}
	for _, a := range d.Vetted.Addrs {
		s.indent("address " + a.String())
	}
	const shown = 40 // of a version; explain shows all of it
	for _, text := range []string{
		fmt.Sprintf("agent %s, policy %s", orNone(cut(d.AgentVersion, shown)), d.Revision),
		fmt.Sprintf("layer %s, guard %s, mode %s", d.Layer, d.Guard, d.Mode),
	} {
		s.line("%s", s.paint(dim, cut("  "+text, s.width)))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// plain makes text of the request fit for a terminal.
func plain(s string) string {
	q := decision.Quote(s)
	if q == `"`+s+`"` {
		return s
	}
	return q
}
