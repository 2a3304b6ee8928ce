package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/toolgate/toolgate/internal/api"
	"github.com/toolgate/toolgate/internal/audit"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/metrics"
	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/policy"
	"github.com/toolgate/toolgate/internal/runs"
)

// tokenFile is the API token's name in the state folder.
const tokenFile = "api-token"

// Options configures a daemon. Stdout and Stderr are needed.
type Options struct {
	// ConfigPath is the configuration file; empty for the embedded default,
	// which is never reloaded.
	ConfigPath string
	// Loopback is what ALLOW_LOOPBACK_TOOL_URLS says.
	Loopback bool
	// AddrFile gets one name=address line per listener once all are bound.
	AddrFile string
	// Version and Revision describe this build.
	Version, Revision string
	// Stdout takes the decision log, one JSON line a decision; Stderr what
	// people read.
	Stdout, Stderr io.Writer
	// Reload asks for a reload (SIGHUP). Nil: only a changed file does.
	Reload <-chan os.Signal
	// Addresses classifies addresses; nil for the built-in registries. Only
	// tests pass another table.
	Addresses *ipclass.Table
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// daemon is a running toolgate.
type daemon struct {
	Options
	log       *slog.Logger
	metrics   *metrics.Metrics
	health    metrics.Health
	own       ownAddresses
	pdp       policy.PDP
	loaded    atomic.Pointer[Policy]
	started   *config.Document // what listeners, token and logs were made from
	permits   *runs.Permits
	audit     *audit.Recorder
	token     string
	tokenPath string
	proxy     *egress.Proxy
	listeners map[string]listener
}

// Run serves until ctx is done, then drains: new connections are refused, open
// ones get drain_timeout. It returns nil after a drain. A configuration that
// cannot be used is an error, a config.Problems where the file is to blame.
func Run(ctx context.Context, o Options) error {
	d := &daemon{Options: o, listeners: map[string]listener{}}
	if d.Now == nil {
		d.Now = time.Now
	}
	d.own.local = interfaceAddresses
	if err := d.prepare(); err != nil {
		return err
	}
	defer d.closeListeners()
	if err := d.bind(ctx); err != nil {
		return err
	}
	return d.serve(ctx)
}

// prepare loads the policy and makes everything that needs no listener.
func (d *daemon) prepare() error {
	var err error
	d.metrics, err = metrics.New(metrics.Options{Version: d.Version, Revision: d.Revision, Sinks: []string{"stdout"}, Now: d.Now})
	if err != nil {
		return err
	}
	p, err := d.load()
	if err != nil {
		return err
	}
	d.started = p.Document
	d.log = newLogger(d.Stderr, d.started.Log.Level)
	d.use(p)
	if d.permits, err = runs.NewPermits(runs.PermitOptions{Now: d.Now}); err != nil {
		return err
	}
	onFull := audit.DenyOnFull
	if d.started.Log.OnFull == config.FullDrop {
		onFull = audit.DropOnFull
	}
	d.audit, err = audit.New(audit.Options{Writer: newSink(d.Stdout), Sink: "stdout", OnFull: onFull, Observer: d.metrics})
	if err != nil {
		return err
	}
	return d.openAPI()
}

// openAPI reads or makes the API token. On a Unix socket the file mode is the
// permission, and there is none.
func (d *daemon) openAPI() (err error) {
	if isUnix(d.started.Listen.API.Text) {
		return nil
	}
	d.tokenPath = d.started.API.TokenFile
	own := d.tokenPath == ""
	if own {
		d.tokenPath = filepath.Join(d.started.State, tokenFile)
	}
	d.token, err = loadToken(d.tokenPath, own)
	return err
}

// load reads and compiles the configuration.
func (d *daemon) load() (*Policy, error) {
	return LoadPolicy(PolicyOptions{
		Path: d.ConfigPath, Loopback: d.Loopback, Addresses: d.Addresses, Self: d.own.is, Observer: d.metrics, Now: d.Now,
	})
}

// use puts a policy in force.
func (d *daemon) use(p *Policy) {
	d.loaded.Store(p)
	d.pdp.Swap(p.Snapshot)
	d.metrics.Loaded(metrics.Policy{Revision: p.Snapshot.Revision(), Tools: p.Snapshot.ToolNames(), Mode: p.Document.Mode})
}

// bind opens the listeners. Nothing is served before all are open.
func (d *daemon) bind(ctx context.Context) error {
	doc := d.started
	var all []listener
	for _, l := range []struct {
		name string
		at   config.Address
	}{{"api", doc.Listen.API}, {"proxy", doc.Listen.Proxy}, {"metrics", doc.Listen.Metrics}} {
		bound, err := bind(ctx, l.name, l.at)
		if err != nil {
			return err
		}
		d.listeners[l.name] = bound
		all = append(all, bound)
	}
	d.own.set(all)
	if d.AddrFile == "" {
		return nil
	}
	return writeAddrFile(d.AddrFile, all)
}

func (d *daemon) closeListeners() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
}

// servers makes what answers on the listeners.
func (d *daemon) servers() (apiServer, metricsServer *http.Server, err error) {
	recorder := decision.Recorders{d.audit, d.metrics}
	decider := decision.Recorded(&d.pdp, recorder, d.Now)
	handler, err := api.New(api.Options{
		Decider: decider, Recorder: recorder, Lister: lister{&d.pdp}, Issue: d.issue,
		Token: d.token, Socket: isUnix(d.started.Listen.API.Text), Now: d.Now, Logger: d.log,
	})
	if err != nil {
		return nil, nil, err
	}
	dialer, err := pin.NewDialer(pin.DialerOptions{Self: d.own.is})
	if err != nil {
		return nil, nil, err
	}
	d.proxy, err = egress.New(egress.Options{
		Decider: decider, Recorder: recorder, Ends: d.audit.Ends(), Identifier: d, Dialer: dialer, Observer: d.metrics, Logger: d.log, Now: d.Now,
		MaxConns: proxyConns(),
	})
	if err != nil {
		return nil, nil, err
	}
	return d.httpServer(handler), d.httpServer(d.metrics.Handler(&d.health)), nil
}

// writeTimeout bounds an answer, from the end of the request's head: a caller
// that never reads one must not hold a connection for ever. It leaves a batch
// of evaluations time to look names up.
const writeTimeout = 2 * time.Minute

// httpServer is a server for callers that may be hostile: heads are bounded in
// size, and requests and answers in time.
func (d *daemon) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: writeTimeout,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelWarn),
	}
}

// newLogger writes what toolgate has to say beside decisions.
func newLogger(w io.Writer, level config.Level) *slog.Logger {
	levels := map[config.Level]zerolog.Level{
		config.LevelDebug: zerolog.DebugLevel, config.LevelInfo: zerolog.InfoLevel,
		config.LevelWarn: zerolog.WarnLevel, config.LevelError: zerolog.ErrorLevel,
	}
	return slog.New(zerolog.NewSlogHandler(zerolog.New(w).Level(levels[level]).With().Timestamp().Logger()))
}

// fault is the error of a server that ended. During a drain nobody reads it.
func fault(name string, err error) error {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("daemon: the %s server stopped", name)
	}
	return fmt.Errorf("daemon: %s: %w", name, err)
}
