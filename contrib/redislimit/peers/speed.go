package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a redis-server on a socket of its own.
func startRedis() (client *redis.Client, end func(), err error) {
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	end = func() {
		if client != nil {
			client.Close()
		}
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		os.RemoveAll(dir)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "The server is now ready") {
			client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 64})
			return client, end, nil
		}
	}
	end()
	return nil, nil, errors.New("redis-server did not start")
}

// jobs are what is measured.
var jobs = []struct {
	name    string
	workers int
	keys    int
	granted bool
	n       int
	burst   int
}{
	{"one after another, 10 000 keys, granted", 1, 10_000, true, 1_000_000, 1_000_000},
	{"32 goroutines, 10 000 keys, granted", 32, 10_000, true, 1_000_000, 1_000_000},
	{"32 goroutines, one key, granted", 32, 1, true, 1_000_000, 1_000_000},
	{"32 goroutines, 10 000 keys, refused", 32, 10_000, false, 1, 1},
}

// rate returns the decisions a second of one job in that time.
func rate(take take, workers, keys int, granted bool, d time.Duration) (float64, error) {
	var done, wrong atomic.Int64
	var failed atomic.Pointer[error]
	ctx := context.Background()
	names := make([]string, keys)
	for i := range names {
		names[i] = "key:" + strconv.Itoa(i)
	}
	if !granted { // empty them
		for _, k := range names {
			for range 2 {
				if _, err := take(ctx, k, 1); err != nil {
					return 0, err
				}
			}
		}
	}
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range workers {
		wg.Go(func() {
			for i := w * 7919; time.Since(begin) < d; i++ {
				ok, err := take(ctx, names[i%keys], 1)
				if err != nil {
					failed.Store(&err)
					return
				}
				if ok != granted {
					wrong.Add(1)
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	if wrong.Load() > done.Load()/100 {
		return 0, fmt.Errorf("%d of %d decisions were not what is measured (granted: %v)", wrong.Load(), done.Load(), granted)
	}
	return float64(done.Load()) / took.Seconds(), nil
}

// speedTable measures the libraries in turn, on one server, and prints the medians.
func speedTable(w io.Writer, rounds int, d time.Duration) error {
	client, end, err := startRedis()
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(w, "Decisions a second, median of %d rounds of %v in turn, one redis-server on a unix socket:\n\n| |", rounds, d)
	for _, s := range subjects {
		fmt.Fprintf(w, " %s |", s.name)
	}
	fmt.Fprintf(w, "\n|---|%s", strings.Repeat("--:|", len(subjects)))
	for _, j := range jobs {
		got := make([][]float64, len(subjects))
		problem := make([]error, len(subjects))
		for range rounds {
			for i, s := range subjects {
				if problem[i] != nil {
					continue
				}
				if err := client.FlushDB(context.Background()).Err(); err != nil {
					return err
				}
				period := time.Second
				if !j.granted {
					period = 24 * time.Hour
				}
				take, err := s.make(client, j.n, period, j.burst)
				if err != nil {
					return err
				}
				r, err := rate(take, j.workers, j.keys, j.granted, d)
				if err != nil {
					problem[i] = err
					continue
				}
				got[i] = append(got[i], r)
			}
		}
		fmt.Fprintf(w, "\n| %s |", j.name)
		for i := range subjects {
			if problem[i] != nil {
				fmt.Fprintf(w, " fails: %v |", problem[i])
				continue
			}
			slices.Sort(got[i])
			fmt.Fprintf(w, " %.0f |", got[i][len(got[i])/2])
		}
	}
	fmt.Fprintln(w)
	return nil
}
