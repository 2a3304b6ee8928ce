// Command toolgate is a sidecar that decides what an AI agent's tools may do:
// which tools it may call, which commands run, and which addresses may be
// dialled. This package holds flags, exit codes and the environment, nothing
// else.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker: -X main.version=….
var version = "dev"

// The exit codes of the contract (section 6).
const (
	exitOK     = 0 // allowed, or done
	exitFault  = 1 // toolgate could not do it
	exitUsage  = 2 // wrong usage or bad configuration
	exitDenied = 3 // the decision is no
)

// cli is the command line.
type cli struct {
	Serve       serveCmd       `cmd:"" help:"Run the sidecar: decision API, egress proxy, metrics."`
	Check       checkCmd       `cmd:"" aliases:"validate" help:"Check configuration files: every problem with its place, then what the file means."`
	Decide      decideCmd      `cmd:"" help:"Ask for one decision, or with '-' answer AuthZEN requests from standard input, one JSON object a line."`
	Explain     explainCmd     `cmd:"" help:"Show every registered tool of an agent with its state and the reason."`
	Healthcheck healthcheckCmd `cmd:"" help:"Ask a running toolgate whether it is ready; exit 0 if so."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// env is what a command may use of the process.
type env struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the command
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
}

// exitError ends the process with a code; its text may be empty.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns what lies under e.
func (e *exitError) Unwrap() error { return e.err }

// usageError is exit code 2 with a message.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(&env{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run parses args, runs the command and returns the exit code.
func run(e *env, args []string) int {
	var c cli
	exited, code := false, exitOK
	parser, err := kong.New(&c,
		kong.Name("toolgate"),
		kong.Description("Decides what an AI agent's tools may do, and enforces it."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(c int) { exited, code = true, c }),
	)
	if err != nil {
		return fail(e, err)
	}
	ctx, err := parser.Parse(args)
	if exited { // --help was asked for
		return code
	}
	if err != nil {
		_, _ = fmt.Fprintf(e.stderr, "toolgate: %v\nhint: toolgate --help lists the commands, toolgate COMMAND --help its flags\n", err)
		return exitUsage
	}
	if err := ctx.Run(e); err != nil {
		return fail(e, err)
	}
	return exitOK
}

// fail says an error and returns its exit code.
func fail(e *env, err error) int {
	code := exitFault
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
	}
	if text := err.Error(); text != "" {
		_, _ = fmt.Fprintf(e.stderr, "toolgate: %s\n", text)
	}
	return code
}
