package atomic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// Read 20 kB at 1 MB/s. The burst is the most that one Read returns.
func ExampleNewReader() {
	limiter := atomic.NewLimiter(gcra.PerSecond(1_000_000).Burst(4000))
	body := strings.NewReader(strings.Repeat("x", 20_000))
	start := time.Now()
	n, err := io.Copy(io.Discard, atomic.NewReader(context.Background(), body, limiter))
	fmt.Println(n, err)
	fmt.Println(time.Since(start) >= 16*time.Millisecond) // 4000 bytes go at once
	// Output:
	// 20000 <nil>
	// true
}

// All that is written through one limiter shares its rate; pieces are no
// longer than the burst.
func ExampleNewWriter() {
	limiter := atomic.NewLimiter(gcra.PerSecond(100_000).Burst(1000))
	w := atomic.NewWriter(context.Background(), os.Stdout, limiter)
	n, err := fmt.Fprintln(w, "paced")
	fmt.Println(n, err)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w = atomic.NewWriter(ctx, io.Discard, atomic.NewLimiter(gcra.PerHour(10).Burst(10)))
	n, err = w.Write(make([]byte, 25))
	fmt.Println(n, errors.Is(err, context.DeadlineExceeded)) // at once: the rest is an hour away
	// Output:
	// paced
	// 6 <nil>
	// 10 true
}
