package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/api"
	"github.com/toolgate/toolgate/internal/audit"
	"github.com/toolgate/toolgate/internal/decision"
)

// BenchmarkOverHTTP compares, in one run, a handler that answers a constant
// with evaluations whose decisions are logged, for eight clients that keep
// their connections.
func BenchmarkOverHTTP(b *testing.B) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"decision":true}`))
	})
	log, err := audit.New(audit.Options{Writer: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = log.Run(b.Context()) }()
	a, err := api.New(api.Options{
		Decider: decision.Recorded(constant{}, log, time.Now), Lister: constant{}, Token: token,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) { load(b, bare) })
	b.Run("evaluation", func(b *testing.B) { load(b, a) })
}

func load(b *testing.B, h http.Handler) {
	b.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	host := s.Listener.Addr().String()
	request := []byte("POST /access/v1/evaluation HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " + token +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(typical)) + "\r\n\r\n" + typical)
	var failed atomic.Int64
	b.SetParallelism(4) // eight clients on two processors
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			failed.Add(1)
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil || !answered(in) {
				failed.Add(1)
				return
			}
		}
	})
	if failed.Load() > 0 {
		b.Errorf("%d clients failed", failed.Load())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// answered reads one response and reports whether it is a 200. It is as cheap
// as a client can be, since it runs on the server's processors.
func answered(in *bufio.Reader) bool {
	length, ok := 0, false
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false
		}
		if first {
			ok = string(line) == "HTTP/1.1 200 OK\r\n"
		}
		if value, is := cutPrefix(line, "Content-Length: "); is {
			length, _ = strconv.Atoi(value)
		}
		if len(line) == len("\r\n") {
			_, err := in.Discard(length)
			return err == nil && ok && length > 0
		}
	}
}

func cutPrefix(line []byte, prefix string) (string, bool) {
	if len(line) < len(prefix)+2 || string(line[:len(prefix)]) != prefix {
		return "", false
	}
	return string(line[len(prefix) : len(line)-2]), true
}
