package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// demonstrate asks more than the limit permits, waits as it is told, asks again,
// changes the limit, and restarts.
func demonstrate(ctx context.Context, out io.Writer, c config) error {
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.log = slog.New(slog.DiscardHandler)
	c.listen, c.admin, c.balances = "127.0.0.1:0", "127.0.0.1:0", filepath.Join(dir, "balances")

	fmt.Fprintf(out, "each client gets %v, all together %v\n", c.limits.client, c.limits.global)
	err = c.during(ctx, func(s *service) error {
		var wait time.Duration
		for i := range 5 {
			status, header, body, err := ask(ctx, http.MethodGet, fmt.Sprintf("%s/%d", s.front.addr, i+1), "")
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "request %d: %s, ", i+1, status)
			after, err := strconv.Atoi(header.Get("Retry-After"))
			if err != nil {
				fmt.Fprintln(out, body)
				continue
			}
			name, _, _ := strings.Cut(header.Get("RateLimit"), ";")
			wait = max(wait, time.Duration(after)*time.Second)
			fmt.Fprintf(out, "limit %s, retry after %ds\n", name, after)
		}
		fmt.Fprintln(out, "waiting", wait)
		if err := c.wait(ctx, wait); err != nil {
			return err
		}
		status, _, body, err := ask(ctx, http.MethodGet, s.front.addr+"/6", "")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "request 6: %s, %s\n", status, body)
		const limit = "5/d burst 1"
		_, _, body, err = ask(ctx, http.MethodPut, s.admin.addr+"/limits/client", limit)
		fmt.Fprintf(out, "PUT /limits/client: %s", body)
		if err != nil {
			return err
		}
		status, _, body, err = ask(ctx, http.MethodGet, s.front.addr+"/7", "")
		fmt.Fprintf(out, "request 7: %s, %s\n", status, body)
		c.limits = s.gate.limits()
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "restarting")
	return c.during(ctx, func(s *service) error {
		status, _, _, err := ask(ctx, http.MethodGet, s.front.addr+"/8", "")
		fmt.Fprintf(out, "request 8: %s\n", status)
		return err
	})
}

// during does something while the service serves.
func (c config) during(ctx context.Context, do func(*service) error) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx) }()
	err = do(s)
	end()
	if ended := <-served; err == nil {
		err = ended
	}
	return err
}

func (c config) wait(ctx context.Context, d time.Duration) error {
	if c.pause != nil {
		c.pause(d)
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask sends a request, by a connection of its own, and reads the answer.
func ask(ctx context.Context, method, url, text string) (status string, header http.Header, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+url, strings.NewReader(text))
	if err != nil {
		return "", nil, "", err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.Status, res.Header, string(b), err
}
