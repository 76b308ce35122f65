// Command copy copies a file at a steady rate and prints the rate that it
// achieved.
//
//	go run ./docs/examples/copy                      # 20 MB made for the purpose, at 10 MB/s
//	go run ./docs/examples/copy -rate 500kB a.iso b.iso
//	go run ./docs/examples/copy -limit "1000000/s burst 65536" a.iso b.iso
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("copy: ")
	// An interrupt ends the wait for the next piece as well.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		stop()
		log.Fatal(err)
	}
}

// burst is what goes at once, and the most that one Read returns: a fraction
// of a percent of what is copied, and more than enough for the cost of a wait
// per piece not to show.
const burst = 64 << 10

// run copies what the arguments say.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("copy", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprintln(out, "usage: copy [-rate bytes-per-second | -limit limit] [-size bytes | source destination]")
		flags.PrintDefaults()
	}
	size, limit := bytes(20_000_000), gcra.PerSecond(10_000_000).Burst(burst)
	flags.Func("rate", "bytes a second, such as `500kB` (default 10MB)", func(s string) error {
		var rate bytes
		if err := rate.Set(s); err != nil {
			return err
		}
		limit = gcra.PerSecond(int(rate)).Burst(burst)
		return nil
	})
	flags.Func("limit", "rate and burst in bytes, such as `'9000000/s burst 65536'`", func(s string) (err error) {
		limit, err = gcra.Parse(s)
		return err
	})
	flags.Var(&size, "size", "the size of the file that is made if none is named")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if limit.Capacity() == 0 {
		return fmt.Errorf("under the limit %v nothing can be copied", limit)
	}
	switch flags.NArg() {
	case 0:
		return demonstrate(ctx, out, limit, int64(size))
	case 2:
		return copyFile(ctx, out, flags.Arg(0), flags.Arg(1), limit)
	}
	return fmt.Errorf("want a source and a destination, or neither; got %q", flags.Args())
}

// bytes is a flag: a number, with kB, MB or GB after it or without.
type bytes int

func (b *bytes) String() string { return strconv.Itoa(int(*b)) }

func (b *bytes) Set(s string) error {
	number, unit := s, 1
	for _, u := range []struct {
		name  string
		bytes int
	}{{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}} {
		if before, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = before, u.bytes
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	// What a Limit can have as a rate on every platform, and a disk as a size.
	const most = 2e9
	if err != nil || n < 1 || n > most/unit {
		return errors.New("want a whole number of bytes from 1 to 2GB, such as 1500, 500kB or 10MB")
	}
	*b = bytes(n * unit)
	return nil
}

// demonstrate copies a file of that size in a folder that it removes.
func demonstrate(ctx context.Context, out io.Writer, limit gcra.Limit, size int64) error {
	dir, err := os.MkdirTemp("", "weir-copy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(source, size); err != nil {
		return err
	}
	return copyFile(ctx, out, source, filepath.Join(dir, "copy"), limit)
}

// copyFile does not overwrite, and leaves nothing half done behind.
func copyFile(ctx context.Context, out io.Writer, from, to string, limit gcra.Limit) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if info, err := src.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", from)
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	start := time.Now()
	// Between two files io.Copy would let the kernel copy, unpaced; a paced
	// Reader is not a file.
	n, err := io.Copy(dst, atomic.NewReader(ctx, src, atomic.NewLimiter(limit)))
	elapsed := time.Since(start)
	if err = errors.Join(err, dst.Close()); err != nil {
		os.Remove(to)
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	fmt.Fprintf(out, "%d bytes in %.3f s: %s\n", n, elapsed.Seconds(), achieved(limit, n, elapsed))
	return nil
}

// achieved tells the rate, and how it compares to the limit's. The burst goes
// at once, so what counts is what follows it.
func achieved(limit gcra.Limit, n int64, elapsed time.Duration) string {
	tokens, period := limit.Rate()
	rest := n - int64(limit.Capacity())
	if rest <= 0 || tokens == 0 || limit.Interval() == 0 {
		return fmt.Sprintf("under %v all of it goes at once", limit)
	}
	want := float64(tokens) / period.Seconds()
	got := float64(rest) / elapsed.Seconds()
	return fmt.Sprintf("%.3f MB/s after the burst, %.2f %% of %v", got/1e6, 100*got/want, limit)
}
