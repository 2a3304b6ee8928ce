package origintest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Greeting is the body that Hello answers with.
const Greeting = "hello from the origin\n"

// Hello reads the request's body and answers 200 with Greeting.
func Hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, Greeting)
	})
}

// Echo answers 200 with the request's body, streaming.
func Echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
		_, _ = io.Copy(w, r.Body)
	})
}

// Redirect answers with code and the Location given, byte for byte: it is not
// resolved or cleaned, as http.Redirect would.
func Redirect(code int, location string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(code)
	})
}

// Refresh answers 200 with a Refresh header that leads to target.
func Refresh(target string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Refresh", "0; url="+target)
		_, _ = io.WriteString(w, Greeting)
	})
}

// Slow answers like next after d, or not at all if the client leaves first.
func Slow(d time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// Events sends each text that arrives on events as one server-sent event, at
// once, until the channel is closed or the client leaves.
func Events(events <-chan string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		_ = out.Flush()
		for {
			select {
			case text, ok := <-events:
				if !ok {
					return
				}
				_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
				_ = out.Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
}

// Blob answers with size bytes.
func Blob(size int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		block := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
		for left := size; left > 0 && r.Context().Err() == nil; {
			n, err := w.Write(block[:min(left, int64(len(block)))])
			if err != nil {
				return
			}
			left -= int64(n)
		}
	})
}
