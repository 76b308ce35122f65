package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weir-go/weir/internal/console"
)

// A table lines up its columns. The first is text and stands left, the others right.
type table struct {
	rows [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write appends the table, indented.
func (t *table) write(b *strings.Builder) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		line := " "
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line += " " + cell + pad
			} else {
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// percent is a part of a whole with one decimal place, rounded half up, but 0 and 100 are said of nothing and of all only.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	some, rest := part > 0, part < whole
	for whole > 1<<52 { // so that the product fits; one place needs no more
		part, whole = part>>1, whole>>1
	}
	p := (part*2000 + whole) / (2 * whole)
	switch {
	case p == 0 && some:
		return "<0.1 %"
	case p == 1000 && rest:
		return ">99.9 %"
	}
	return fmt.Sprintf("%d.%d %%", p/10, p%10)
}

// count is a number and what it counts.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return console.Grouped(n) + " " + what + "s"
}

// between is a number known by its bounds.
func between(low, high int64) string {
	if low == high {
		return console.Grouped(low)
	}
	return console.Grouped(low) + " to " + console.Grouped(high)
}
