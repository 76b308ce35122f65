package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// A progress tells on stderr how far the work is: one line that changes on a terminal, else a line each second.
type progress struct {
	w     io.Writer
	live  bool
	every time.Duration
	shown int // columns in use on a terminal
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, every: time.Second}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if p.live {
		p.every /= 5
	}
	return p
}

func (p *progress) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !p.live {
		fmt.Fprintln(p.w, line)
		return
	}
	n := utf8.RuneCountInString(line)
	fmt.Fprintf(p.w, "\r%s%*s", line, max(p.shown-n, 0), "")
	p.shown = n
}

// done takes the line off the terminal.
func (p *progress) done() {
	if p.shown > 0 {
		p.say("")
		fmt.Fprint(p.w, "\r")
	}
}

// grouped is 1234567 as 1 234 567.
func grouped(n int64) string {
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

// short is a duration of three digits.
func short(d time.Duration) string {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Minute).String()
}

// plain is a key for a terminal: quoted if it could do anything to one, or could be taken for something else.
func plain(key string) string {
	const most = 60
	end := ""
	if len(key) > most {
		key, end = key[:most], "..."
	}
	for _, r := range key {
		if r == '"' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return strconv.Quote(key) + end
		}
	}
	return key + end
}
