package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/internal/console"
)

// Notes are sentences on what an input does to the answer: broken lines, their order, the clock.
func Notes(s *logs.Summary) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if s.Broken > 0 {
		add("%s broken and left out, the first:", count(s.Broken, "line"))
		for _, f := range s.Faults {
			add("  %s:%d: %s", console.Plain(f.File), f.Line, f.Reason)
		}
	}
	if s.Free > 0 {
		add("%s without a cost, counted as 0 tokens.", count(s.Free, "request"))
	}
	if s.Reordered > 0 {
		add("The window of %v sorted %s that stood out of order.", s.Window, count(s.Reordered, "request"))
	}
	if s.Late > 0 {
		add("Too far out of order for the window of %v (or more than %s came between): %s, decided at the latest time seen before. Sort the input, or widen -window.",
			s.Window, console.Grouped(logs.MaxHeld), count(s.Late, "request"))
		if older, newer, ok := misplaced(s.Files); ok {
			add("%s begins earlier than %s, which was read before it: name the older file first.", console.Plain(older), console.Plain(newer))
		}
	}
	if s.WholeSeconds() {
		add("The clock is one of whole seconds: all requests of a second arrive at once. So a burst looks larger than it was, by up to what the rate brings in 1s, and refusals are overstated; where requests fell on both sides of a second they can be understated. A smallest burst is uncertain by rate x 1s either way.")
	}
	return notes
}

// misplaced finds a file that begins earlier than the one with records before it.
func misplaced(files []logs.File) (older, newer string, ok bool) {
	last := -1
	for i := range files {
		if files[i].First.IsZero() {
			continue // it has no records
		}
		if last >= 0 && files[i].First.Before(files[last].First) {
			return files[i].Name, files[last].Name, true
		}
		last = i
	}
	return "", "", false
}

// source says what was read.
func source(b *strings.Builder, s *logs.Summary) {
	for _, f := range s.Files {
		if f.Format == "" {
			f.Format = "empty"
		}
		fmt.Fprintf(b, "  %s: %s, %s\n", console.Plain(f.Name), f.Format, count(f.Lines, "line"))
	}
	fmt.Fprintf(b, "  %s from %s to %s (%s)\n", count(s.Requests, "request"), s.First.Format(time.RFC3339Nano), s.Last.Format(time.RFC3339Nano), length(s.Last.Sub(s.First)))
	if s.Broken+s.Late > 0 {
		fmt.Fprintf(b, "  %s broken, %s too far out of order: see the notes below\n", count(s.Broken, "line"), count(s.Late, "request"))
	}
}

// length is a duration, in days where it is long.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.String()
	}
	text := count(int64(d/day), "day")
	if rest := d % day; rest > 0 {
		text += " " + rest.String()
	}
	return text
}

// notes appends the notes, each broken into lines that fit.
func notes(b *strings.Builder, all []string, width int) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\nnotes\n")
	for _, n := range all {
		indent := "  "
		if strings.HasPrefix(n, " ") {
			b.WriteString("  " + n + "\n")
			continue
		}
		line := indent
		for word := range strings.FieldsSeq(n) {
			if len(line)+1+len(word) > width && line != indent {
				b.WriteString(line + "\n")
				line = indent
			}
			if line != indent {
				line += " "
			}
			line += word
		}
		b.WriteString(line + "\n")
	}
}
