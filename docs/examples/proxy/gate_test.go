package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// local trusts this machine, so that a test can come from anywhere.
func local(c *config) { c.trust = prefixes{netip.MustParsePrefix("127.0.0.1/32")} }

// TestJointly: who is refused by one limit takes nothing from the other, and is
// told which it was.
func TestJointly(t *testing.T) {
	var clk clock.Manual
	s := begin(t, &clk, func(c *config) {
		local(c)
		c.limits.global = gcra.PerSecond(1).Burst(2)
	})
	for i, row := range []struct {
		from   string
		status int
		policy string // that RateLimit names
		why    string
	}{
		{"192.0.2.1", 200, "client", "it had one token and the others two"},
		{"192.0.2.1", 429, "client", "it has used its own up"},
		{"192.0.2.1", 429, "client", "and goes on asking"},
		{"192.0.2.2", 200, "client", "which took nothing from all"},
		{"192.0.2.3", 429, "global", "there are no more"},
		{"192.0.2.3", 429, "global", "whoever asks"},
		{"+", 0, "", "a second later"},
		{"192.0.2.3", 200, "client", "its own token was not taken"},
		{"192.0.2.3", 429, "client", "both are empty now, but only one refills"},
	} {
		if row.from == "+" {
			clk.Advance(time.Second)
			continue
		}
		status, header, _ := s.get(t, row.from)
		policy := strings.Trim(strings.SplitN(header.Get("RateLimit"), ";", 2)[0], `"`)
		if status != row.status || policy != row.policy {
			t.Errorf("request %d from %s: %d by %q, want %d by %q: %s", i, row.from, status, policy, row.status, row.policy, row.why)
		}
		if want := `"client";q=1, "global";q=2;w=2`; header.Get("RateLimit-Policy") != want {
			t.Errorf("request %d: RateLimit-Policy %q, want %q", i, header.Get("RateLimit-Policy"), want)
		}
		if after := header.Get("Retry-After"); (after == "1") != (row.status == 429 && row.policy == "global") {
			t.Errorf("request %d: Retry-After %q", i, after)
		}
	}
	// Metrics know who refused too.
	_, text := s.administer(t, "GET", "/metrics", "")
	for _, want := range []string{
		`weir_requests_total{policy="client",result="allowed"} 3`,
		`weir_requests_total{policy="client",result="denied"} 3`,
		`weir_requests_total{policy="client",result="error"} 0`,
		`weir_requests_total{policy="global",result="allowed"} 3`,
		`weir_requests_total{policy="global",result="denied"} 2`,
		`weir_keys{policy="client"} 3`,
		`go_goroutines `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
}

// TestSpoofed: without trust another claim is no other client, and the upstream
// does not hear it.
func TestSpoofed(t *testing.T) {
	var clk clock.Manual
	to := echo(t)
	s := begin(t, &clk, func(c *config) {
		c.upstream = to
		c.trust = prefixes{netip.MustParsePrefix("192.0.2.0/24")} // not who asks
	})
	if status, _, body := s.get(t, "192.0.2.1"); status != 200 || body != "127.0.0.1 http" {
		t.Errorf("%d %q", status, body)
	}
	for _, claim := range []string{"192.0.2.2", "198.51.100.1", "127.0.0.1", "rubbish", ""} {
		if status, _, _ := s.get(t, claim); status != http.StatusTooManyRequests {
			t.Errorf("as %q: %d", claim, status)
		}
	}
}

// TestTrusted: behind a proxy that is trusted the client is who it says, and
// what stands left of that counts for nothing.
func TestTrusted(t *testing.T) {
	var clk clock.Manual
	to := echo(t)
	s := begin(t, &clk, func(c *config) {
		local(c)
		c.upstream = to
	})
	for i, row := range []struct {
		forwarded string
		status    int
		body, why string
	}{
		{"192.0.2.1", 200, "192.0.2.1, 127.0.0.1 http", "the upstream hears the chain"},
		{"192.0.2.1", 429, "", "the same client"},
		{"198.51.100.1, 192.0.2.1", 429, "", "the client wrote the left one"},
		{"192.0.2.1, 127.0.0.1", 429, "", "another trusted hop"},
		{"::ffff:192.0.2.1", 429, "", "the same in IPv6"},
		{"2001:db8::1", 200, "2001:db8::1, 127.0.0.1 http", "an IPv6 client"},
		{"2001:db8::2", 429, "", "has a whole /64"},
		{"unknown", 400, "", "nobody to charge it to"},
		{"", 400, "", "neither"},
	} {
		status, _, body := s.get(t, row.forwarded)
		if status != row.status || status == 200 && body != row.body {
			t.Errorf("row %d, %q: %d %q, want %d %q: %s", i, row.forwarded, status, body, row.status, row.body, row.why)
		}
	}
	if _, text := s.administer(t, "GET", "/metrics", ""); !strings.Contains(text, `result="error"} 2`) {
		t.Error("two requests without an address are no errors")
	}
}

// TestForwardedProto: a trusted proxy in front knows by which scheme and name it
// was asked.
func TestForwardedProto(t *testing.T) {
	to := echo(t)
	for _, trusting := range []bool{false, true} {
		s := begin(t, clock.System(), func(c *config) {
			c.upstream = to
			if trusting {
				local(c)
			}
		})
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.front.addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		req.Header.Set("X-Forwarded-For", "192.0.2.1")
		req.Header.Set("X-Forwarded-Proto", "https")
		_, _, body := do(t, req)
		if got := strings.HasSuffix(body, " https"); got != trusting {
			t.Errorf("trusting %v: the upstream hears %q", trusting, body)
		}
	}
}

func TestOff(t *testing.T) {
	s := begin(t, clock.System(), func(c *config) { c.off = true })
	for range 3 {
		if status, header, _ := s.get(t); status != 200 || header.Get("RateLimit") != "" {
			t.Errorf("%d %v", status, header)
		}
	}
}

func TestUpstreamGone(t *testing.T) {
	gone, err := start("127.0.0.1:0", hello(), loopback)
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	s := begin(t, clock.System(), func(c *config) { c.upstream = "http://" + gone.addr })
	if status, _, _ := s.get(t); status != http.StatusBadGateway {
		t.Errorf("%d", status)
	}
	s.says(t, "refused")
}

func TestTrustFlag(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"192.0.2.1", "192.0.2.1/32"},
		{"192.0.2.1/24, 2001:db8::1", "192.0.2.0/24,2001:db8::1/128"},
		{"", "neither an address"},
		{"192.0.2.1,", "neither an address"},
		{"localhost", "neither an address"},
		{"fe80::1%eth0", "neither an address"},
		{"0.0.0.0/0", "trusts everybody"},
		{"::/0", "trusts everybody"},
		{"::ffff:0:0/96", "trusts everybody"},
	} {
		var p prefixes
		err := p.Set(row.text)
		if got := fmt.Sprint(p, " ", err); !strings.Contains(got, row.want) {
			t.Errorf("%q: %s, want %s", row.text, got, row.want)
		}
	}
	var p prefixes
	for _, text := range []string{"192.0.2.1", "192.0.2.2"} {
		if err := p.Set(text); err != nil {
			t.Error(err)
		}
	}
	if p.String() != "192.0.2.1/32,192.0.2.2/32" {
		t.Errorf("two flags: %v", p)
	}
	if (prefixes{}).contain("@") || p.contain("@") || !p.contain("[::ffff:192.0.2.2]:1") || p.contain("192.0.2.3:1") {
		t.Error("who is trusted")
	}
}

// TestBuffers: what is put is got, and whole.
func TestBuffers(t *testing.T) {
	var b buffers
	p := b.Get()
	b.Put(p)
	if got := b.Get(); len(got) != len(p) || len(got) == 0 || !bytes.Equal(got, p) {
		t.Errorf("%d bytes after %d", len(got), len(p))
	}
}
