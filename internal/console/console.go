// Package console is what the commands of this repository print with: progress on a terminal, and numbers, durations and keys
// as people read them.
package console

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Progress tells on stderr how far the work is: one line that changes on a terminal, else a line each second.
type Progress struct {
	w     io.Writer
	live  bool
	Every time.Duration // between two reports
	shown int           // columns in use on a terminal
}

// NewProgress returns a progress on w, which is a terminal if it is a file that is one.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{w: w, Every: time.Second}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if p.live {
		p.Every /= 5
	}
	return p
}

// Live reports whether it writes to a terminal.
func (p *Progress) Live() bool { return p.live }

// Say tells how far the work is, in place of what was told before on a terminal.
func (p *Progress) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !p.live {
		fmt.Fprintln(p.w, line)
		return
	}
	n := utf8.RuneCountInString(line)
	fmt.Fprintf(p.w, "\r%s%*s", line, max(p.shown-n, 0), "")
	p.shown = n
}

// Done takes the line off the terminal.
func (p *Progress) Done() {
	if p.shown > 0 {
		p.Say("")
		fmt.Fprint(p.w, "\r")
	}
}

// Grouped is 1234567 as 1 234 567.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// Short is a duration of three digits.
func Short(d time.Duration) string {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Minute).String()
}

// Plain is a key for a terminal: quoted if it could do anything to one, or could be taken for something else, and cut where it
// is longer than 60 letters.
func Plain(key string) string {
	letters, end := 0, ""
	for i := range key {
		if letters++; letters > 60 {
			key, end = key[:i], "..."
			break
		}
	}
	for _, r := range key {
		if r == '"' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return strconv.Quote(key) + end
		}
	}
	return key + end
}
