package main

import (
	"errors"
	"strings"

	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/daemon"
	"github.com/toolgate/toolgate/internal/decision"
)

// configFlag names the configuration file.
type configFlag struct {
	Config string `short:"c" placeholder:"FILE" help:"Configuration file; without it, the embedded default."`
}

// load compiles the policy that the flag names, with what the process
// environment says. A bad file is exit code 2.
func (f configFlag) load(e *env) (*daemon.Policy, error) {
	loopback, err := daemon.ParseLoopback(e.getenv(daemon.LoopbackVariable))
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	p, err := daemon.LoadPolicy(daemon.PolicyOptions{Path: f.Config, Loopback: loopback})
	if err != nil {
		return nil, badConfig(err)
	}
	return p, nil
}

// badConfig is exit code 2 with every problem on a line of its own.
func badConfig(err error) error {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return &exitError{exitUsage, errors.New("the configuration has problems:\n" + problems.Error())}
	}
	return &exitError{exitUsage, err}
}

// factFlags are the facts of a run on the command line.
type factFlags struct {
	Stage      string  `placeholder:"S" help:"Stage (board column) that the task is in."`
	TaskType   string  `placeholder:"T" help:"Type of the task."`
	Job        string  `placeholder:"J" help:"Job that the agent runs."`
	Repository string  `placeholder:"R" help:"Repository that the run is bound to."`
	Planned    *string `placeholder:"TOOLS" help:"Board tools that the subtask declared, separated by commas; an empty value declares none."`
	Version    string  `name:"version" placeholder:"V" help:"Agent version to answer for; only the current one is kept yet."`
}

// facts returns them as the decision point reads them.
func (f factFlags) facts() decision.Facts {
	facts := decision.Facts{Stage: f.Stage, TaskType: f.TaskType, Job: f.Job, Repository: f.Repository}
	if f.Planned == nil {
		return facts
	}
	facts.HasPlan = true // also where it is empty: a plan of nothing declares nothing
	for p := range strings.SplitSeq(*f.Planned, ",") {
		if p = strings.TrimSpace(p); p != "" {
			facts.Planned = append(facts.Planned, p)
		}
	}
	return facts
}

// agentOrDefault returns the agent that a question is about: the named one, or the one
// that clients without credentials are.
func agentOrDefault(name string, p *daemon.Policy) (string, error) {
	if name != "" {
		return name, nil
	}
	if anon := p.Document.Egress.Anonymous; anon != nil {
		return anon.Agent.Name, nil
	}
	return "", usageError("no agent is named and egress.anonymous names none\nhint: --agent NAME, one of: %s", strings.Join(p.Snapshot.Agents(), ", "))
}
