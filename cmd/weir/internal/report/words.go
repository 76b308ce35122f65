package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weir-go/weir/internal/console"
)

const nbsp = "\u00a0"

// num is a number in groups of three digits, which stay in one line.
func num(n int64) string { return strings.ReplaceAll(console.Grouped(n), " ", nbsp) }

// count is a number and what it counts.
func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return num(n) + nbsp + what
}

// between is a number known by its bounds.
func between(low, high int64) string {
	if low == high {
		return num(low)
	}
	return num(low) + " to " + num(high)
}

// permille is a part of a whole in thousandths, rounded half up, but 0 and 1000 are said of nothing and of all only.
func permille(part, whole int64) int64 {
	some, rest := part > 0, part < whole
	for whole > 1<<51 { // so that the product fits; a thousandth needs no more
		part, whole = part>>1, whole>>1
	}
	switch p := (part*2000 + whole) / (2 * whole); {
	case p == 0 && some:
		return 1
	case p == 1000 && rest:
		return 999
	default:
		return p
	}
}

// share is a part of a whole in percent, with one decimal place.
func share(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	p := permille(part, whole)
	text := fmt.Sprintf("%d.%d", p/10, p%10) + nbsp + "%"
	switch {
	case part <= 0 || part >= whole:
		return strings.Replace(text, ".0", "", 1)
	case p == 1 && part < whole/1000:
		return "under " + text
	case p == 999 && whole-part < whole/1000:
		return "over " + text
	}
	return text
}

// moment is a time of the traffic, which is in UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02" + nbsp + "15:04:05") }

// span is a length of time for people: in days where it is long.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.String()
	}
	text := count(int64(d/day), "day")
	if hours := d % day / time.Hour; hours > 0 {
		text += " " + count(int64(hours), "hour")
	}
	return text
}

const (
	keyHead = 72 // runes of a long key that are shown, at its start
	keyTail = 20 // and at its end, where keys that begin alike differ
)

// visible is text from a log: quoted if it holds anything that does not print or could be taken for a quoted one, and cut if it
// is long.
func visible(s string) string {
	size, cut := len(s), ""
	head, tail := s, ""
	if size > 2*(keyHead+keyTail) {
		head, tail = s[:keyHead], s[size-keyTail:]
		for i := 1; i < utf8.UTFMax && !utf8.ValidString(head); i++ { // not within a rune
			head = head[:keyHead-i]
		}
		for i := 1; i < utf8.UTFMax && !utf8.ValidString(tail); i++ {
			tail = s[size-keyTail+i:]
		}
		cut = " (" + num(int64(size)) + " bytes)"
	}
	quote := strings.ContainsFunc(head+tail, func(r rune) bool {
		return r == '"' || r == utf8.RuneError || !unicode.IsPrint(r)
	})
	quote = quote || s == "" || strings.TrimSpace(s) != s || strings.Contains(s, "  ")
	if quote {
		head = strconv.Quote(head)
		if tail != "" {
			tail = strconv.Quote(tail)
		}
	}
	if tail != "" {
		head += "…" + tail
	}
	return head + cut
}
