package text

import (
	"math"
	"strings"
)

// A Style says what the terminal can do. Nothing here colours anything.
type Style struct {
	Width int  // columns; 0 is 80
	ASCII bool // no block characters
}

func (s Style) width() int {
	if s.Width <= 0 {
		return 80
	}
	return max(s.Width, 40)
}

var (
	blocks = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	signs  = []string{" ", ".", ":", "-", "=", "+", "*", "#", "@"}
)

// columns draws one character for each number: how high it is, of most. What is not 0 is seen.
func (s Style) columns(n []int64, most int64) string {
	marks := blocks
	if s.ASCII {
		marks = signs
	}
	var b strings.Builder
	for _, v := range n {
		level := 0
		if v > 0 {
			level = min(1+int(float64(v)/float64(most)*7.999), 8)
		}
		b.WriteString(marks[level])
	}
	return b.String()
}

// bar draws a line that is as long as the logarithm of n, of most, in at most so many columns.
func (s Style) bar(n, most int64, columns int) string {
	if n <= 0 || most <= 0 {
		return ""
	}
	length := math.Log1p(float64(n)) / math.Log1p(float64(most)) * float64(columns)
	if s.ASCII {
		return strings.Repeat("#", max(int(length), 1))
	}
	whole := int(length)
	rest := []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[int((length-float64(whole))*8)]
	return strings.Repeat("█", whole) + rest
}

// fit sums neighbours up, so that at most so many are left, and returns how many made one.
func fit(n []int64, columns int) ([]int64, int) {
	each := (len(n) + columns - 1) / columns
	if each <= 1 {
		return n, 1
	}
	var out []int64
	for i, v := range n {
		if i%each == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] += v
	}
	return out, each
}
