package runs

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// DefaultPermitTTL is how long a permit lives when PermitOptions say
	// nothing: time enough to start a download, not to hand the secret around.
	DefaultPermitTTL = 5 * time.Minute

	// MinPermitKey is the shortest key, in bytes: that of the hash (RFC 2104,
	// section 3).
	MinPermitKey = sha256.Size

	// permitPrefix marks the text for secret scanners. Like the rest of a
	// permit it needs no escaping in a URL's userinfo or in Basic credentials.
	permitPrefix = "tgp_"
	// permitFormat is the first byte of the payload: the layout that follows.
	permitFormat = 1
	// maxGrantField bounds each text of a Grant, in bytes.
	maxGrantField = 512
	// maxPermitLength bounds what Check reads at all, in bytes: a permit whose
	// four texts are as long as they may be is shorter.
	maxPermitLength = 3072
)

// Grant is what a permit proves. Agent and Tool are never empty.
type Grant struct {
	Agent        string
	AgentVersion string
	Tool         string
	DecisionID   string // the decision that allowed it, for the log
}

// PermitOptions configure Permits.
type PermitOptions struct {
	// Key signs permits, at least MinPermitKey bytes. Nil: a random key, so
	// that permits end with the process.
	Key []byte
	// TTL is how long a permit lives. Zero: DefaultPermitTTL.
	TTL time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Permits issues and checks permits. It keeps no list: a permit carries its
// grant and its expiry under an HMAC-SHA256. The zero value issues nothing and
// accepts nothing. It is safe for concurrent use.
type Permits struct {
	key []byte
	ttl time.Duration
	now func() time.Time
}

// NewPermits returns Permits. It fails on a key that is too short, on a
// negative TTL and when the system has no randomness.
func NewPermits(o PermitOptions) (*Permits, error) {
	p := &Permits{key: bytes.Clone(o.Key), ttl: o.TTL, now: o.Now}
	switch {
	case p.ttl < 0:
		return nil, errors.New("runs: a permit's lifetime is negative")
	case p.ttl == 0:
		p.ttl = DefaultPermitTTL
	}
	if p.now == nil {
		p.now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if o.Key == nil {
		p.key = make([]byte, MinPermitKey)
		if _, err := rand.Read(p.key); err != nil {
			return nil, fmt.Errorf("runs: permit key: %w", err)
		}
	}
	if len(p.key) < MinPermitKey {
		return nil, fmt.Errorf("runs: a permit key of %d bytes is too short: at least %d", len(p.key), MinPermitKey)
	}
	return p, nil
}

// Issue returns a permit for g: text of letters, digits, "-" and "_". It
// returns "" for a grant without agent or tool or with a text that is too
// long; "" is never a permit.
func (p *Permits) Issue(g Grant) string {
	if len(p.key) == 0 || g.Agent == "" || g.Tool == "" {
		return ""
	}
	payload := make([]byte, 1, 256)
	payload[0] = permitFormat
	expires := p.now().Add(p.ttl).UnixMilli()
	payload = binary.BigEndian.AppendUint64(payload, uint64(expires))
	for _, s := range []string{g.Agent, g.AgentVersion, g.Tool, g.DecisionID} {
		if len(s) > maxGrantField {
			return ""
		}
		payload = binary.BigEndian.AppendUint16(payload, uint16(len(s))) //nolint:gosec // at most maxGrantField
		payload = append(payload, s...)
	}
	return permitPrefix + base64.RawURLEncoding.EncodeToString(p.sign(payload))
}

// Check returns what permit proves, and whether it does: made with this key,
// unchanged in every byte, and not expired.
func (p *Permits) Check(permit string) (Grant, bool) {
	text, marked := strings.CutPrefix(permit, permitPrefix)
	// The decoder skips line breaks, which would give one permit many spellings.
	if len(p.key) == 0 || !marked || len(permit) > maxPermitLength || strings.ContainsAny(text, "\r\n") {
		return Grant{}, false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < sha256.Size {
		return Grant{}, false
	}
	payload := sealed[: len(sealed)-sha256.Size : len(sealed)-sha256.Size]
	if !hmac.Equal(p.sign(payload), sealed) {
		return Grant{}, false
	}
	return p.open(payload)
}

// sign returns payload followed by its code. The label keeps a code for a
// permit from standing for anything else that the key may sign one day.
func (p *Permits) sign(payload []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte("toolgate permit\x00"))
	mac.Write(payload)
	return mac.Sum(payload)
}

// open reads a payload whose code was right.
func (p *Permits) open(payload []byte) (Grant, bool) {
	if len(payload) < 9 || payload[0] != permitFormat {
		return Grant{}, false
	}
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(payload[1:9]))) //nolint:gosec // written from an int64
	rest := payload[9:]
	var g Grant
	for _, field := range []*string{&g.Agent, &g.AgentVersion, &g.Tool, &g.DecisionID} {
		if len(rest) < 2 {
			return Grant{}, false
		}
		n := int(binary.BigEndian.Uint16(rest))
		rest = rest[2:]
		if len(rest) < n {
			return Grant{}, false
		}
		*field, rest = string(rest[:n]), rest[n:]
	}
	if len(rest) != 0 || !p.now().Before(expires) {
		return Grant{}, false
	}
	return g, true
}
