package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/dice"
)

// The files in testdata are made here, from a seed: go test ./cmd/weir -run TestTestdata -update
var update = flag.Bool("update", false, "write the generated logs to testdata")

// A hit is one request of a generated log.
type hit struct {
	at     time.Time
	client string
	method string
	path   string
	key    string
	bytes  int
}

// hits makes requests that come in clusters.
func hits(seed dice.Dice, n int, from time.Time) (all []hit) {
	at := from
	for range n {
		if seed.Roll(4) > 0 {
			at = at.Add(time.Duration(seed.Roll(2000)) * time.Millisecond)
		}
		h := hit{at: at, client: fmt.Sprintf("192.0.2.%d", 1+seed.Skewed(30)), method: []string{"GET", "GET", "POST"}[seed.Roll(3)],
			path: fmt.Sprintf("/p/%d", seed.Skewed(9)), key: fmt.Sprintf("k%d", seed.Skewed(6)), bytes: seed.Skewed(9000)}
		if seed.Roll(5) == 0 {
			h.client = fmt.Sprintf("2001:db8::%x:%x", seed.Skewed(4), seed.Roll(9))
		}
		all = append(all, h)
	}
	return all
}

var morning = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// files returns the logs by name.
func files() map[string]string {
	all := make(map[string]*strings.Builder)
	put := func(name, format string, args ...any) {
		if all[name] == nil {
			all[name] = &strings.Builder{}
		}
		fmt.Fprintf(all[name], format+"\n", args...)
	}
	access := func(name string, h hit) {
		put(name, `%s - - [%s] "%s %s?q=1 HTTP/1.1" 200 %d "-" "agent \"%s\""`, h.client, h.at.Format("02/Jan/2006:15:04:05 -0700"), h.method, h.path, h.bytes, h.key)
	}
	for _, h := range hits(1, 200, morning.Add(-time.Hour)) {
		access("access.log.1", h)
	}
	for i, h := range hits(2, 300, morning) {
		if access("access.log", h); i%100 == 50 {
			put("access.log", "\x16\x03\x01 %d", i) // TLS on a plain port, logged raw
		}
	}
	put("requests.csv", "time,tenant,tokens,note")
	put("requests.tsv", "timestamp\ttenant\ttokens")
	for i, h := range hits(3, 300, morning) {
		put("requests.csv", `%d.%06d,"%s",%d,"a ""b"", c"`, h.at.Unix(), h.at.Nanosecond()/1000, h.key, h.bytes)
		put("requests.tsv", "%s\t%s\t%d", h.at.Add(time.Duration(i%7)*-100*time.Millisecond).Format(time.RFC3339Nano), h.key, h.bytes)
	}
	for _, h := range hits(4, 200, morning) {
		put("caddy.json", `{"level":"info","ts":%d.%06d,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"%s","remote_port":"4242","client_ip":"%[3]s","proto":"HTTP/2.0","method":"%s","host":"example.com","uri":"%s?q=1","headers":{"User-Agent":["curl/8"],"X-Api-Key":["%s"]}},"duration":0.0021,"size":%d,"status":200}`,
			h.at.Unix(), h.at.Nanosecond()/1000, h.client, h.method, h.path, h.key, h.bytes)
		put("envoy.json", `{"start_time":"%s","method":"%s","path":"%s","protocol":"HTTP/2","response_code":200,"bytes_sent":%d,"downstream_remote_address":"%s","authority":"example.com","user_agent":"curl"}`,
			h.at.Format("2006-01-02T15:04:05.000Z07:00"), h.method, h.path, h.bytes, withPort(h.client))
		put("nginx.json", `{"time_iso8601":"%s","remote_addr":"%s","request":"%s %s?q=1 HTTP/1.1","status":"200","body_bytes_sent":"%d","http_user_agent":"a\"%s\""}`,
			h.at.Format(time.RFC3339), h.client, h.method, h.path, h.bytes, h.key)
		put("other.json", `{"when":%d,"peer":"%s","what":{"tenant":"%s"}}`, h.at.UnixMilli(), withPort(h.client), h.key)
	}
	texts := make(map[string]string)
	for name, b := range all {
		texts[name] = b.String()
	}
	return texts
}

func withPort(client string) string {
	if strings.Contains(client, ":") {
		return "[" + client + "]:4242"
	}
	return client + ":4242"
}

func TestTestdata(t *testing.T) {
	for name, want := range files() {
		path := filepath.Join("testdata", name)
		packed := name == "access.log.1"
		if packed {
			path += ".gz"
		}
		if *update {
			var b bytes.Buffer
			if b.WriteString(want); packed {
				b.Reset()
				z := gzip.NewWriter(&b)
				io.WriteString(z, want)
				z.Close()
			}
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if packed {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if string(data) != want {
			t.Errorf("%s is not what is made here: -update writes it", path)
		}
	}
}
