package main

import (
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/daemon"
)

// gcPercent lets the heap grow to four times what is live, a few MiB, before it
// is collected: under load that is some 10 MiB more for a tenth of the CPU.
// GOGC in the environment wins.
const gcPercent = 300

type serveCmd struct {
	configFlag
	AddrFile string `placeholder:"FILE" help:"Write one name=host:port line per listener to FILE once all are bound."`
}

func (c *serveCmd) Run(e *env) error {
	loopback, err := daemon.ParseLoopback(e.getenv(daemon.LoopbackVariable))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	if e.getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	b := thisBuild()
	err = daemon.Run(e.ctx, daemon.Options{
		ConfigPath: c.Config, Loopback: loopback, AddrFile: c.AddrFile, Version: b.Version, Revision: b.Revision,
		Stdout: e.stdout, Stderr: e.stderr, Reload: reload,
	})
	var problems config.Problems
	var unreadable *daemon.ConfigError
	if errors.As(err, &problems) || errors.As(err, &unreadable) {
		return badConfig(err)
	}
	return err
}
