package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

// build is what is known of this binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

func thisBuild() build {
	b := build{Version: version, Revision: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

func (c *versionCmd) Run(e *env) error {
	b := thisBuild()
	if c.JSON {
		return json.NewEncoder(e.stdout).Encode(b)
	}
	_, err := fmt.Fprintf(e.stdout, "toolgate %s (revision %s, %s)\n", b.Version, b.Revision, b.Go)
	return err
}
