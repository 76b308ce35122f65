package logs

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// FuzzRead gives any input to each format: nothing panics, every line is accounted for, time does not go back, and the same
// records come out however the input arrives.
func FuzzRead(f *testing.F) {
	f.Fuzz(func(t *testing.T, in string) {
		for _, format := range formats {
			o := Options{
				Format: format, Window: time.Second, Hide: strings.HasPrefix(in, "h"), Stdin: strings.NewReader(in),
				Keys: []Key{{}, {whole: true}, {parts: []slot{{kind: path}}}}, Costs: []Cost{{}},
			}
			last, n := int64(-1<<63), int64(0)
			s, err := Read([]string{"-"}, o, func(r *Record) error {
				if r.Time < last || len(r.Keys) != 3 || len(r.Keys[0]) == 0 || len(r.Keys[1]) != 0 || r.Costs[0] < 0 {
					t.Fatalf("%s: %+v after %d", format, r, last)
				}
				last = r.Time
				n++
				return nil
			})
			if err == nil || errors.Is(err, ErrNoRecords) {
				if s.Requests != n || s.Requests+s.Broken+s.Blank != s.Lines {
					t.Fatalf("%s: %+v, %d records", format, s, n)
				}
			}
		}
	})
}
