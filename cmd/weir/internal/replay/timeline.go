package replay

import "time"

// A Timeline says when things happened, in at most MaxBins bins of equal width.
type Timeline struct {
	Start    time.Time     `json:"start"` // of the first bin, in UTC: a whole second
	Width    time.Duration `json:"width_ns"`
	Requests []int64       `json:"requests"` // of each bin
	Refused  [][]int64     `json:"refused"`  // of each limit, and of all together after those if they are joint
}

// MaxBins is the most bins of a Timeline. When more are needed, pairs become one.
const MaxBins = 256

const narrowest = time.Second / 8

func newTimeline(first int64, limits int) *Timeline {
	at := time.Unix(0, first).UTC()
	return &Timeline{Start: at.Truncate(time.Second), Width: narrowest, Refused: make([][]int64, limits)}
}

// bin returns the index of the bin of an instant, which there is from now on.
func (t *Timeline) bin(at int64, start int64) int {
	past := uint64(at) - uint64(start) // may exceed an int64
	for past/uint64(t.Width) >= MaxBins {
		t.Width *= 2
		t.Requests = fold(t.Requests)
		for i := range t.Refused {
			t.Refused[i] = fold(t.Refused[i])
		}
	}
	n := int(past / uint64(t.Width))
	for len(t.Requests) <= n {
		t.Requests = append(t.Requests, 0)
		for i := range t.Refused {
			t.Refused[i] = append(t.Refused[i], 0)
		}
	}
	return n
}

func fold(bins []int64) []int64 {
	for i := 0; i < len(bins); i += 2 {
		sum := bins[i]
		if i+1 < len(bins) {
			sum += bins[i+1]
		}
		bins[i/2] = sum
	}
	return bins[:(len(bins)+1)/2]
}
