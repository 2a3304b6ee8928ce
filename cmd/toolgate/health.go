package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/toolgate/toolgate/internal/config"
)

type healthcheckCmd struct {
	configFlag
	URL     string        `placeholder:"URL" help:"Where to ask, in place of listen.metrics of the configuration."`
	Timeout time.Duration `default:"2s" help:"How long to wait."`
}

func (c *healthcheckCmd) Run(e *env) error {
	url := c.URL
	if url == "" {
		p, err := c.load(e)
		if err != nil {
			return err
		}
		address, err := reachable(p.Document.Listen.Metrics)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		url = "http://" + address + "/readyz"
	}
	ctx, cancel := context.WithTimeout(e.ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	// A client of its own, so that no proxy variable sends it elsewhere.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w\nhint: is toolgate running with this configuration?", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s: %q\nhint: it is starting or draining; see its log", res.Status, body)
	}
	_, err = fmt.Fprintln(e.stdout, "ready")
	return err
}

// reachable turns a listen address into one to dial: a listener on all
// addresses is asked on loopback.
func reachable(listen config.Address) (string, error) {
	at, ok := listen.AddrPort()
	if !ok || at.Port() == 0 {
		return "", fmt.Errorf("listen.metrics is %s, which is no address to ask\nhint: --url http://HOST:PORT/readyz", listen)
	}
	if at.Addr().IsUnspecified() {
		loopback := netip.IPv6Loopback()
		if at.Addr().Is4() {
			loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		at = netip.AddrPortFrom(loopback, at.Port())
	}
	return at.String(), nil
}
