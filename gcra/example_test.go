package gcra_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A loop over requests, as every engine runs it: the state is one word.
func Example() {
	limit := gcra.PerSecond(2).Burst(3)
	start := time.Now() // any clock will do; an engine subtracts its first reading
	at := gcra.At(&limit, 0)
	tat := gcra.Fresh(&limit, at)
	for _, after := range []time.Duration{0, 0, 0, 0, 200 * time.Millisecond, 500 * time.Millisecond} {
		reading := start.Add(after)
		at := gcra.At(&limit, reading.Sub(start))
		next, d := gcra.Take(&limit, tat, at, 1)
		tat = next
		fmt.Println(after, d.OK(), d.Remaining(), d.RetryAfter())
	}
	// Output:
	// 0s true 2 0s
	// 0s true 1 0s
	// 0s true 0 0s
	// 0s false 0 500ms
	// 200ms false 0 300ms
	// 500ms true 0 0s
}

func ExamplePer() {
	limit := gcra.Per(6, 3*time.Second).Burst(10)
	fmt.Println(limit)
	fmt.Println("one token in", limit.Interval())
	fmt.Println("full after", limit.FillTime())
	fmt.Println("in any minute at most", limit.Within(time.Minute))
	// Output:
	// 6/3s burst 10
	// one token in 500ms
	// full after 5s
	// in any minute at most 130
}

func ExampleLimit_Burst() {
	fmt.Println(gcra.PerSecond(100))           // evenly spaced
	fmt.Println(gcra.PerSecond(100).Burst(20)) // up to 20 at once
	// Output:
	// 100/s burst 1
	// 100/s burst 20
}

func ExampleLimit_InSteps() {
	// A quota of 3 a day that is paid out at midnight, saved up to 5.
	limit := gcra.PerDay(3).Burst(5).InSteps(24 * time.Hour).Start(0)
	tat := gcra.Fresh(&limit, gcra.At(&limit, 0))
	for _, hour := range []time.Duration{12, 24, 36, 48} {
		d := gcra.Peek(&limit, tat, gcra.At(&limit, hour*time.Hour), 5)
		fmt.Println(hour*time.Hour, "has", d.Remaining(), "and 5 in", d.RetryAfter())
	}
	// Output:
	// 12h0m0s has 0 and 5 in 36h0m0s
	// 24h0m0s has 3 and 5 in 24h0m0s
	// 36h0m0s has 3 and 5 in 12h0m0s
	// 48h0m0s has 5 and 5 in 0s
}

func ExampleDecision() {
	limit := gcra.PerSecond(10).Burst(5)
	at := gcra.At(&limit, 0)
	tat := gcra.Fresh(&limit, at)

	tat, d := gcra.TakeUpTo(&limit, tat, at, 8)
	fmt.Println("granted", d.Granted(), "full again in", d.ResetAfter())

	_, d = gcra.Take(&limit, tat, at, 2)
	fmt.Println(d.Err(), "for", d.RetryAfter())

	_, d = gcra.Take(&limit, tat, at, 6)
	fmt.Println(d.Err(), d.RetryAfter() == gcra.Never)
	// Output:
	// granted 5 full again in 500ms
	// weir: limited for 200ms
	// weir: cost exceeds the burst true
}

func ExampleBook() {
	limit := gcra.PerSecond(10)
	at := gcra.At(&limit, 0)
	tat := gcra.Fresh(&limit, at)
	for range 3 {
		b, _ := gcra.Book(&limit, tat, at, at.Tick, 1)
		tat = b.End
		fmt.Println("sleep", gcra.Until(&limit, b.Slot, at))
	}
	// Output:
	// sleep 0s
	// sleep 100ms
	// sleep 200ms
}

func ExampleParse() {
	for _, text := range []string{"100/s burst 20", "5000/h", "0/s burst 100", "100/s burst many"} {
		limit, err := gcra.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(limit)
	}
	// Output:
	// 100/s burst 20
	// 5000/h burst 1
	// 0/s burst 100
	// gcra: limit "100/s burst many", "many" at byte 12: burst "many" is not a whole number
}

func ExampleLimit_MarshalText() {
	var config struct {
		Login gcra.Limit `json:"login"`
		API   gcra.Limit `json:"api"`
	}
	err := json.Unmarshal([]byte(`{"login": "5/m burst 3", "api": "unlimited"}`), &config)
	fmt.Println(config.Login.Capacity(), err)

	config.API = gcra.PerSecond(1000).Burst(100)
	text, err := json.Marshal(config)
	fmt.Println(string(text), err)

	err = json.Unmarshal([]byte(`{"login": "5/minute"}`), &config)
	fmt.Println(err)
	fmt.Println(config.Login) // as it was
	// Output:
	// 3 <nil>
	// {"login":"5/m burst 3","api":"1000/s burst 100"} <nil>
	// gcra: limit "5/minute", "5/minute" at byte 0: period "minute" is not s, m, h, d, ms, us, ns or a duration such as 1m30s
	// 5/m burst 3
}

func ExampleLimit_UnmarshalText() {
	var limit gcra.Limit
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&limit, "limit", gcra.PerSecond(100).Burst(20), "`rate` of each client")
	fmt.Println(limit)

	err := flags.Parse([]string{"-limit", "5/s burst 2"})
	fmt.Println(limit, err)

	err = flags.Parse([]string{"-limit", "5/s burst 0"})
	fmt.Println(err)
	// Output:
	// 100/s burst 20
	// 5/s burst 2 <nil>
	// invalid value "5/s burst 0" for flag -limit: gcra: limit "5/s burst 0", "0" at byte 10: burst 0 is below 1
}
