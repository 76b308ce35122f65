package text

import (
	"fmt"
	"strings"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/console"
)

// String is the explanation for people.
func (e Explanation) String() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-16s "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintf(&b, "%v\n", e.Limit)
	row("in words", "%s", e.Words)
	if e.Limit != gcra.Unlimited() {
		row("a token every", "%s", wait(e.Interval))
		row("empty to full", "%s", wait(e.Fill))
		row("worst window", "at most this many tokens of one key in any window:")
		for _, w := range e.Within {
			name := "any " + span(w.Length)
			if w.Length == 0 {
				name = "an instant"
			}
			row("", "%-12s %s", name, console.Grouped(w.Tokens))
		}
	}
	row("exactness", "%s", e.Exact)
	if e.Range != gcra.Never {
		row("range", "%s days after its limiter was made, then nothing refills", console.Grouped(int64(e.Range.Hours()/24)))
	}
	row("Go", "%s", e.Go)
	if e.Policy != "" {
		row("HTTP", "RateLimit-Policy: %s", e.Policy)
	}
	return b.String()
}
