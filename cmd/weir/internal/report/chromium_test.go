//go:build unix

package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A browser is a headless Chromium with one tab, driven over a pair of pipes. Without a pipe left it ends; its whole process
// group is killed at the end all the same.
type browser struct {
	t       *testing.T
	ctx     context.Context
	to      io.Writer
	from    chan message
	session string
	last    int
	events  []message // since the last open
}

// A message of the DevTools protocol, either way.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// newBrowser starts a browser, or skips the test where there is none, unless WEIR_CHROMIUM=required.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("WEIR_CHROMIUM") == "required" {
			t.Fatal("WEIR_CHROMIUM=required, but there is no chromium, chromium-browser or google-chrome")
		}
		t.Skip("no chromium, chromium-browser or google-chrome is installed: the page is not looked at in a browser")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps",
		"--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe", "--user-data-dir="+home, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.ExtraFiles = []*os.File{theirs, ours} // 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ours.Close()
	b := &browser{t: t, ctx: ctx, to: to, from: make(chan message, 1)}
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(b.from)
		d := json.NewDecoder(&skipNUL{from})
		for {
			var m message
			if d.Decode(&m) != nil {
				return
			}
			select {
			case b.from <- m:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		to.Close()
		from.Close()
		reader.Wait()
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// skipNUL reads messages that end in NUL as JSON with spaces between.
type skipNUL struct{ r io.Reader }

func (s *skipNUL) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for i, c := range p[:n] {
		if c == 0 {
			p[i] = ' '
		}
	}
	return n, err
}

// next returns the next message, and keeps events.
func (b *browser) next() message {
	b.t.Helper()
	select {
	case m, ok := <-b.from:
		if !ok {
			b.t.Fatal("the browser is gone")
		}
		if m.Method != "" {
			b.events = append(b.events, m)
		}
		return m
	case <-b.ctx.Done():
		b.t.Fatal("the browser does not answer: ", context.Cause(b.ctx))
		return message{}
	}
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.last++
	raw, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	if params == nil {
		raw = []byte("{}")
	}
	m, err := json.Marshal(message{ID: b.last, Session: b.session, Method: method, Params: raw})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(m, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.next()
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// A view is how somebody looks at a page.
type view struct {
	width  int
	scheme string // light or dark
	media  string // "" or print
}

func (v view) String() string { return fmt.Sprintf("%d-%s%s", v.width, v.scheme, v.media) }

func views() []view {
	return []view{{360, "light", ""}, {360, "dark", ""}, {320, "light", ""}, {680, "dark", ""}, {900, "light", ""}, {1200, "dark", ""}, {1200, "light", ""}}
}

// open loads the page as the view has it.
func (b *browser) open(page []byte, v view) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		b.t.Fatal(err)
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": 800, "deviceScaleFactor": 1, "mobile": v.width < 500}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": v.media, "features": []any{map[string]any{"name": "prefers-color-scheme", "value": v.scheme}}}, nil)
	b.events = nil
	b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	for seen := 0; ; {
		for ; seen < len(b.events); seen++ {
			if b.events[seen].Method == "Page.loadEventFired" {
				return
			}
		}
		b.next()
	}
}

// eval returns what a script finds in the page, which itself needs none.
func (b *browser) eval(script string, result any) {
	b.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &r)
	if r.Exception != nil {
		b.t.Fatalf("%s: %s", r.Exception.Text, r.Exception.Exception.Description)
	}
	if err := json.Unmarshal(r.Result.Value, result); err != nil {
		b.t.Fatalf("%v in %s", err, r.Result.Value)
	}
}

// shot is a picture of the whole page. With WEIR_SCREENSHOTS it is kept there.
func (b *browser) shot(name string) []byte {
	b.t.Helper()
	var shot struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("WEIR_SCREENSHOTS"); dir != "" {
		if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666)); err != nil {
			b.t.Fatal(err)
		}
	}
	return bytes.Clone(png)
}

// fetched lists what was asked of anybody but this file, and what the page's policy stopped.
func (b *browser) fetched() (all []string) {
	b.t.Helper()
	for _, m := range b.events {
		var p struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
			Entry struct {
				Level string `json:"level"`
				Text  string `json:"text"`
			} `json:"entry"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			b.t.Fatal(err)
		}
		switch m.Method {
		case "Network.requestWillBeSent":
			if u := p.Request.URL; len(u) < 5 || u[:5] != "file:" && u[:5] != "data:" {
				all = append(all, u)
			}
		case "Log.entryAdded":
			if p.Entry.Level == "error" {
				all = append(all, p.Entry.Text)
			}
		}
	}
	return all
}
