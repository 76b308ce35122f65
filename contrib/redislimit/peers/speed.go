package main

import (
	"bufio"
	"cmp"
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
	"syscall"
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

// A speed is what one job took: decisions a second, and µs of the server's processor
// and of this process' for each, which other programs on the machine disturb less.
type speed struct{ rate, server, client float64 }

// cpu returns the processor time used so far by the server's one thread and here.
func cpu(client *redis.Client) (server, here time.Duration, err error) {
	info, err := client.Info(context.Background(), "cpu").Result()
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(info) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys_main_thread" || name == "used_cpu_user_main_thread" {
			s, err := time.ParseDuration(text + "s")
			if err != nil {
				return 0, 0, err
			}
			server += s
		}
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, 0, err
	}
	return server, time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// measure makes decisions for that time.
func measure(client *redis.Client, take take, workers, keys int, granted bool, d time.Duration) (s speed, err error) {
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
					return s, err
				}
			}
		}
	}
	server, here, err := cpu(client)
	if err != nil {
		return s, err
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
		return s, *err
	}
	server2, here2, err := cpu(client)
	if err != nil {
		return s, err
	}
	if wrong.Load() > done.Load()/100 {
		return s, fmt.Errorf("%d of %d decisions were not what is measured (granted: %v)", wrong.Load(), done.Load(), granted)
	}
	n := float64(done.Load())
	each := func(used time.Duration) float64 { return float64(used.Nanoseconds()) / 1e3 / n }
	return speed{n / took.Seconds(), each(server2 - server), each(here2 - here)}, nil
}

// speedTable measures the libraries in turn, on one server, and prints the medians.
func speedTable(w io.Writer, rounds int, d time.Duration) error {
	client, end, err := startRedis()
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(w, "Decisions a second (µs of processor time for each, of the server + of the client), medians of %d rounds of\n%v in turn, one redis-server on a unix socket:\n\n| |", rounds, d)
	for _, s := range subjects {
		fmt.Fprintf(w, " %s |", s.name)
	}
	fmt.Fprintf(w, "\n|---|%s", strings.Repeat("--:|", len(subjects)))
	for _, j := range jobs {
		got := make([][]speed, len(subjects))
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
				r, err := measure(client, take, j.workers, j.keys, j.granted, d)
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
			median := func(of func(speed) float64) float64 {
				slices.SortFunc(got[i], func(a, b speed) int { return cmp.Compare(of(a), of(b)) })
				return of(got[i][len(got[i])/2])
			}
			fmt.Fprintf(w, " %.0f (%.1f + %.1f) |", median(func(s speed) float64 { return s.rate }),
				median(func(s speed) float64 { return s.server }), median(func(s speed) float64 { return s.client }))
		}
	}
	fmt.Fprintln(w)
	return nil
}
