package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/gcra"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var small = config{
	gateways: 50, keys: 5, skew: 1.1, rate: 4000, whole: 2 * time.Second, life: time.Second,
	limit: gcra.PerSecond(300).Burst(300), seed: 1,
}

// TestSimulation: what has to hold of any numbers.
func TestSimulation(t *testing.T) {
	requests := small.requests()
	var worst, stranded [2]int
	for _, block := range blocks() {
		for i := range worst {
			r, err := small.simulate(requests, block, i == 1)
			if err != nil {
				t.Fatal(err)
			}
			if block == 8 {
				if again, _ := small.simulate(requests, block, i == 1); again != r {
					t.Errorf("%+v, and then %+v", r, again)
				}
			}
			if bound := small.limit.Within(small.life) - small.limit.Capacity(); r.overshoot > bound || r.overshoot > r.out {
				t.Errorf("block %d: overshoot %d, of %d leased out, at most %d", block, r.overshoot, r.out, bound)
			}
			if r.granted > r.leased || r.granted+r.expired > r.leased {
				t.Errorf("block %d: %d granted, %d expired, of %d leased", block, r.granted, r.expired, r.leased)
			}
			// A token at a time is one bucket for all, but for the pause after
			// it was found empty.
			if block == 1 && (r.overshoot != 0 || r.expired != 0 || r.granted > r.exact || r.granted < r.exact*98/100) {
				t.Errorf("block 1: %+v", r)
			}
			worst[i], stranded[i] = max(worst[i], r.overshoot), max(stranded[i], r.expired)
		}
	}
	if worst[0] == 0 || worst[1] == 0 || stranded[0]*3 > stranded[1] {
		t.Errorf("overshoot %v, stranded %v (adaptive, fixed): it shows nothing", worst, stranded)
	}
}

// TestMeter: the worst window, found by trying all.
func TestMeter(t *testing.T) {
	var m meter
	m.init(gcra.PerSecond(10).Burst(3), 2)
	var spends []time.Duration
	worst := 0
	for i, at := range []int{0, 0, 0, 50, 50, 100, 900, 900, 900, 900, 900, 1000, 5000, 5100, 5100} {
		now := time.Duration(at) * time.Millisecond
		spends = append(spends, now)
		got := m.spend(1, now)
		want := 0
		for k, from := range spends {
			want = max(want, len(spends)-k-m.limit.Within(now-from))
		}
		// The meter rounds up, once for all windows.
		if got < want || got > want+1 {
			t.Errorf("spend %d at %v: %d, want %d", i, now, got, want)
		}
		worst = max(worst, got)
	}
	if worst < 2 || m.spend(0, 0) != 0 {
		t.Errorf("worst %d, and another key", worst)
	}
}

func TestRun(t *testing.T) {
	folder, out := t.TempDir(), new(bytes.Buffer)
	if err := run(small, out, folder); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2+2*len(blocks()) {
		t.Errorf("the table has %d lines:\n%s", lines, out)
	}
	svg, err := os.ReadFile(filepath.Join(folder, "leases.svg"))
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is not XML: %v", err)
		}
	}
	for _, want := range []string{"prefers-color-scheme:dark", "Overshoot", "Stranded", "Lost", "Questions", "300/s burst 300"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("the plot has no %q", want)
		}
	}
	if bytes.Contains(svg, []byte("NaN")) {
		t.Error("the plot has a point nowhere")
	}
	for _, c := range []config{{}, {gateways: 1, keys: 1, rate: 10, whole: 1, life: 1, skew: 2, limit: gcra.Unlimited()}} {
		if run(c, io.Discard, "") == nil {
			t.Errorf("%+v is no error", c)
		}
	}
}
