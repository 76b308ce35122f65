package trace

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/dice"
)

// BenchmarkRead reads traces from memory. One operation is the whole trace.
func BenchmarkRead(b *testing.B) {
	const rows = 1_000_000
	for _, c := range []struct {
		name string
		head string
		keys int
		line func(b *bytes.Buffer, i, key int)
		late bool
	}{
		{"format=csv/time=epoch/keys=10k/order=sorted", "time,key,cost\n", 10_000, func(b *bytes.Buffer, i, key int) {
			fmt.Fprintf(b, "%d.%03d,user-%d,%d\n", start+i/1000, i%1000, key, i%100)
		}, false},
		{"format=csv/time=epoch/keys=1M/order=sorted", "time,key,cost\n", rows, func(b *bytes.Buffer, i, _ int) {
			fmt.Fprintf(b, "%d.%03d,user-%d,%d\n", start+i/1000, i%1000, i, i%100)
		}, false},
		{"format=csv/time=epoch/keys=10k/order=late", "time,key,cost\n", 10_000, func(b *bytes.Buffer, i, key int) {
			at := i + 1000
			if i%10 == 0 {
				at -= i * 7 % 1000 // logged at the end of a request, stamped at its beginning
			}
			fmt.Fprintf(b, "%d.%03d,user-%d,%d\n", start+at/1000, at%1000, key, i%100)
		}, true},
		{"format=csv/time=rfc3339/keys=10k/order=sorted", "time,key,cost\n", 10_000, func(b *bytes.Buffer, i, key int) {
			fmt.Fprintf(b, "%s,\"user-%d\",%d\n", time.Unix(start, int64(i)*1e6).UTC().Format(time.RFC3339Nano), key, i%100)
		}, false},
		{"format=combined/keys=10k/order=sorted", "", 10_000, func(b *bytes.Buffer, i, key int) {
			fmt.Fprintf(b, "10.0.%d.%d - - [%s] \"GET /index.html HTTP/1.1\" 200 5120 \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n",
				key/250, key%250, time.Unix(start, int64(i)*1e6).UTC().Format("02/Jan/2006:15:04:05 -0700"))
		}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			var in bytes.Buffer
			in.WriteString(c.head)
			d := dice.Dice(4)
			for i := range rows {
				c.line(&in, i, d.Roll(c.keys))
			}
			b.SetBytes(int64(in.Len()))
			b.ReportAllocs()
			for b.Loop() {
				tr, err := Read(bytes.NewReader(in.Bytes()))
				if err != nil || len(tr.Records) != rows || tr.Broken != 0 || tr.Unsorted > 0 != c.late {
					b.Fatal(tr, err)
				}
			}
			b.StopTimer()
			tr, err := Read(bytes.NewReader(in.Bytes()))
			if err != nil || keys(tr) != c.keys {
				b.Fatalf("%v; %d keys, want %d", err, keys(tr), c.keys)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/line")
		})
	}
}
