package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/brute"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

// shared is where real recorded traffic may lie, first beside a checkout; it is not part of the project.
var shared = []string{"../../../shared/traces", os.Getenv("WEIR_TRACES")}

// A traced file is real traffic, with what is to be asked of it.
type traced struct {
	name   string
	read   func(t *testing.T, data string) []brute.Request // slowly
	format string
	key    string
	cost   string
	flags  []string
	limits []string // as -limit
	exact  []brute.Limit
	all    []bool // of limits: one key in all
	tick   time.Duration
}

var traces = []traced{
	{"nasa-1995-08-01.csv", tableAgain("key", ""), "csv", "key", "1", nil,
		[]string{"30/m burst 5", "all: 5/s burst 10", "1/s"}, []brute.Limit{{N: 30, Period: 60e9, Burst: 5}, {N: 5, Period: 1e9, Burst: 10}, {N: 1, Period: 1e9, Burst: 1}},
		[]bool{false, true, false}, time.Second},
	{"nasa-1995-08-01.csv", tableAgain("key", "bytes"), "csv", "key", "bytes", []string{"-cost", "bytes"},
		[]string{"1000/s burst 100000", "all: 20000/s burst 500000"}, []brute.Limit{{N: 1000, Period: 1e9, Burst: 100000}, {N: 20000, Period: 1e9, Burst: 500000}},
		[]bool{false, true}, time.Second},
	{"llm-2023-code.csv", tableAgain("key", "cost"), "csv", "key", "cost", nil,
		[]string{"1000000/m burst 100000", "6000/s burst 20000"}, []brute.Limit{{N: 1000000, Period: 60e9, Burst: 100000}, {N: 6000, Period: 1e9, Burst: 20000}},
		[]bool{false, false}, time.Microsecond},
	{"web-2015-combined.log", logAgain, "combined", "client", "1", nil,
		[]string{"30/m burst 5", "all: 1/s burst 3"}, []brute.Limit{{N: 30, Period: 60e9, Burst: 5}, {N: 1, Period: 1e9, Burst: 3}},
		[]bool{false, true}, time.Second},
}

// trace returns the path of a shared file and what stands in it, read slowly and sorted.
func (c traced) trace(t *testing.T) (string, []brute.Request, int64) {
	t.Helper()
	for _, dir := range shared {
		path := filepath.Join(dir, c.name)
		if data, err := os.ReadFile(path); dir != "" && err == nil {
			all := c.read(t, string(data))
			sort.SliceStable(all, func(i, j int) bool { return all[i].At < all[j].At })
			return path, all, int64(strings.Count(string(data), "\n"))
		}
	}
	t.Skipf("recorded traffic is not beside this checkout, nor where WEIR_TRACES says: %s", c.name)
	return "", nil, 0
}

// tableAgain reads with encoding/csv.
func tableAgain(key, cost string) func(t *testing.T, data string) []brute.Request {
	return func(t *testing.T, data string) (all []brute.Request) {
		rows, err := csv.NewReader(strings.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		column := func(name string) int { return slices.Index(rows[0], name) }
		for _, row := range rows[1:] {
			r := brute.Request{Key: row[column(key)], Cost: 1}
			if at, err := time.Parse(time.RFC3339Nano, row[column("time")]); err == nil {
				r.At = at.UnixNano()
			} else if n, err := strconv.ParseInt(row[column("time")], 10, 64); err == nil {
				r.At = n * 1e9
			} else {
				t.Fatal(err)
			}
			if cost != "" {
				if r.Cost, err = strconv.ParseInt(row[column(cost)], 10, 64); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, r)
		}
		return all
	}
}

// logAgain reads with one regular expression.
func logAgain(t *testing.T, data string) (all []brute.Request) {
	re := regexp.MustCompile(`^(\S+) \S+ \S+ \[([^]]+)\] "(?:[^"\\]|\\.)*" \d{3} (?:\d+|-) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"\s*$`)
	for line := range strings.Lines(data) {
		m := re.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			t.Fatalf("%q", line)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, brute.Request{At: at.UnixNano(), Key: m[1], Cost: 1})
	}
	return all
}

// TestSharedReplay holds every number of a replay of real traffic against buckets in math/big, side by side and joint.
func TestSharedReplay(t *testing.T) {
	for _, c := range traces {
		for _, joint := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s cost=%s joint=%v", c.name, c.cost, joint), func(t *testing.T) {
				path, all, lines := c.trace(t)
				args := append([]string{"replay", "-json", path}, c.flags...)
				for _, l := range c.limits {
					args = append(args, "-limit", l)
				}
				if joint {
					args = append(args, "-joint")
				}
				r := decode[replay.Result](t, weir("", args...))
				views := make([][]brute.Request, len(c.exact))
				outs := make([][]brute.Outcome, len(c.exact))
				for i := range c.exact {
					for _, q := range all {
						if c.all[i] {
							q.Key = "all"
						}
						views[i] = append(views[i], q)
					}
				}
				var together []brute.Outcome
				if joint {
					var named []int
					together, named = brute.Joint(views, c.exact)
					for i := range outs {
						for j, o := range together {
							if named[j] != i {
								o = brute.Outcome{}
							}
							outs[i] = append(outs[i], o)
						}
					}
				} else {
					for i := range outs {
						outs[i] = brute.Replay(views[i], c.exact[i])
					}
				}
				in := r.Input
				if in.Lines != lines || in.Requests != int64(len(all)) || r.Requests != int64(len(all)) || in.Broken != 0 || in.Blank != lines-int64(len(all)) ||
					in.Late != 0 || in.Tick != c.tick || !in.First.Equal(time.Unix(0, all[0].At)) || !in.Last.Equal(time.Unix(0, all[len(all)-1].At)) ||
					in.Files[0].Format != c.format || in.Files[0].Lines != lines || len(in.Faults) != 0 || in.Free != 0 {
					t.Errorf("%+v", in)
				}
				for i := range c.exact {
					want := counted(views[i], outs[i])
					if joint {
						want.Granted, want.GrantedTokens = r.Together.Granted, r.Together.GrantedTokens
					}
					want.Key, want.Cost, want.Limit = c.key, c.cost, r.Limits[i].Limit
					if c.all[i] {
						want.Key = "all"
					}
					if got := r.Limits[i]; !reflect.DeepEqual(got, want) {
						t.Errorf("%s: %+v, want %+v", c.limits[i], got, want)
					}
				}
				if joint {
					want := counted(views[0], together)
					got := *r.Together
					want.Name, want.MostRefused, want.Keys, want.KeysAtMost, want.RefusedKeys, want.RefusedKeysMost = got.Name, got.MostRefused, 0, 0, 0, 0
					if !reflect.DeepEqual(got, want) {
						t.Errorf("together: %+v, want %+v", got, want)
					}
					outs = append(outs, together)
				}
				sameTimeline(t, r.Timeline, all, outs)
			})
		}
	}
}

// counted is what a verdict has to be, of outcomes.
func counted(all []brute.Request, outs []brute.Outcome) (v replay.Verdict) {
	asked, refused := map[string]int64{}, map[string]int64{}
	for i, q := range all {
		asked[q.Key]++
		o := outs[i]
		if !o.Refused {
			v.Granted++
			v.GrantedTokens += q.Cost
			continue
		}
		refused[q.Key]++
		v.Refused++
		v.RefusedTokens += q.Cost
		v.LongestWait = max(v.LongestWait, time.Duration(o.Wait))
		if o.Never {
			v.Never++
		}
	}
	v.Keys, v.KeysAtMost = int64(len(asked)), int64(len(asked))
	v.RefusedKeys, v.RefusedKeysMost = int64(len(refused)), int64(len(refused))
	v.MostRefused = []replay.KeyCount{}
	for key, n := range refused {
		shown := key
		v.MostRefused = append(v.MostRefused, replay.KeyCount{Key: shown, Refused: n, Requests: asked[key]})
	}
	sort.Slice(v.MostRefused, func(i, j int) bool {
		a, b := v.MostRefused[i], v.MostRefused[j]
		return a.Refused > b.Refused || a.Refused == b.Refused && a.Key < b.Key
	})
	v.MostRefused = v.MostRefused[:min(len(v.MostRefused), 10)]
	return v
}

// sameTimeline counts again by the start and width that are told.
func sameTimeline(t *testing.T, tl *replay.Timeline, all []brute.Request, outs [][]brute.Outcome) {
	t.Helper()
	if len(tl.Refused) != len(outs) || len(tl.Requests) > replay.MaxBins || tl.Start.UnixNano() > all[0].At {
		t.Fatalf("%+v", tl)
	}
	requests := make([]int64, len(tl.Requests))
	for i, q := range all {
		bin := (q.At - tl.Start.UnixNano()) / int64(tl.Width)
		requests[bin]++
		for j := range outs {
			if outs[j][i].Refused {
				tl.Refused[j][bin]--
			}
		}
	}
	if !slices.Equal(requests, tl.Requests) {
		t.Errorf("requests over time: %v, want %v", tl.Requests, requests)
	}
	for j := range outs {
		for bin, n := range tl.Refused[j] {
			if n != 0 {
				t.Errorf("refusals of limit %d in bin %d are off by %d", j, bin, n)
			}
		}
	}
}
