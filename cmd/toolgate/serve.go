package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/daemon"
)

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
