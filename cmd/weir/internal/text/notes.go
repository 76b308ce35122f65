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
		add("%s have no cost and count as 0 tokens.", count(s.Free, "request"))
	}
	if s.Reordered > 0 {
		add("%s stood out of order within %v and were sorted.", count(s.Reordered, "request"), s.Window)
	}
	if s.Late > 0 {
		add("%s stood out of order by more than %v (or more than %s came between) and were decided at the latest time seen before them: sort the input, or widen -window.",
			count(s.Late, "request"), s.Window, console.Grouped(logs.MaxHeld))
	}
	if s.WholeSeconds() {
		add("The clock is one of whole seconds: all requests of a second arrive at once. So a burst looks larger than it was, by up to what the rate brings in 1s, and refusals are overstated; where requests fell on both sides of a second they can be understated. A smallest burst is uncertain by rate x 1s either way.")
	}
	return notes
}

// source says what was read.
func source(b *strings.Builder, s *logs.Summary) {
	for _, f := range s.Files {
		if f.Format == "" {
			f.Format = "empty"
		}
		fmt.Fprintf(b, "  %s: %s, %s\n", console.Plain(f.Name), f.Format, count(f.Lines, "line"))
	}
	fmt.Fprintf(b, "  %s from %s to %s (%v)\n", count(s.Requests, "request"), s.First.Format(time.RFC3339Nano), s.Last.Format(time.RFC3339Nano), s.Last.Sub(s.First))
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
