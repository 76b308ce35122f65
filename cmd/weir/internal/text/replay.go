package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/internal/console"
)

const keyWidth = 40 // letters

// Replay is a result for people.
func Replay(r *replay.Result, s Style) string {
	var b strings.Builder
	b.WriteString("input\n")
	source(&b, &r.Input)

	all := r.Limits
	b.WriteString("\nlimits")
	if r.Joint {
		b.WriteString(", joint: a request passes if all have room, and is refused by the one that has to be waited for longest")
		all = append(all[:len(all):len(all)], *r.Together)
	}
	b.WriteString("\n")
	var t table
	t.row("limit", "keys", "granted", "refused", "share", "keys refused", "longest wait")
	for i := range all {
		v := &all[i]
		keys, refused := between(v.Keys, v.KeysAtMost), between(v.RefusedKeys, v.RefusedKeysMost)
		if i >= len(r.Limits) {
			keys, refused = "", ""
		}
		t.row(title(v), keys, console.Grouped(v.Granted), console.Grouped(v.Refused), percent(v.Refused, r.Requests), refused, v.LongestWait.String())
	}
	t.write(&b)
	for i := range all {
		v := &all[i]
		if v.Cost != "1" && v.Cost != "" {
			fmt.Fprintf(&b, "  %s: %s granted, %s refused, by %s\n", title(v), count(v.GrantedTokens, "token"), count(v.RefusedTokens, "token"), v.Cost)
		}
		if v.Never > 0 {
			fmt.Fprintf(&b, "  %s: %s would never pass, however long they waited\n", title(v), count(v.Never, "request"))
		}
		if v.PastRange > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", title(v), pastRange(v))
		}
		if v.Unstored > 0 {
			fmt.Fprintf(&b, "  %s: %s were decided as of a key never seen, for want of room: see -max-keys\n", title(v), count(v.Unstored, "request"))
		}
	}
	for i := range r.Limits {
		mostRefused(&b, &r.Limits[i])
	}
	when(&b, r.Timeline, all, s)
	notes(&b, Notes(&r.Input), s.width())
	return b.String()
}

// title is what a limit is called.
func title(v *replay.Verdict) string {
	if v.Key == "" { // all of them
		return v.Name
	}
	text := v.Key + ": " + v.Limit.String()
	if v.Name != "" {
		text = v.Name + "=" + text
	}
	return text
}

// pastRange tells of requests that no limit of that kind is made for.
func pastRange(v *replay.Verdict) string {
	return count(v.PastRange, "request") + " so long after the first that nothing refills: years, or a wrong stamp (see weir parse)"
}

func mostRefused(b *strings.Builder, v *replay.Verdict) {
	if len(v.MostRefused) == 0 {
		return
	}
	fmt.Fprintf(b, "\nmost refused by %s\n", title(v))
	var t table
	t.row("key", "refused", "requests", "share")
	for _, k := range v.MostRefused {
		t.row(keyName(k.Key), console.Grouped(k.Refused), console.Grouped(k.Requests), percent(k.Refused, k.Requests))
	}
	t.write(b)
	if v.MayLack > 0 {
		fmt.Fprintf(b, "  not all keys had room: each count may lack up to %s, see -max-keys\n", console.Grouped(v.MayLack))
	}
}

// keyName is a key for a line of text. Of a long one both ends are shown, since paths and addresses begin alike.
func keyName(key string) string {
	r := []rune(key)
	if len(r) <= keyWidth {
		return console.Plain(key)
	}
	const tail = 16
	return console.Plain(string(r[:keyWidth-tail-3])) + "..." + console.Plain(string(r[len(r)-tail:]))
}

// when draws the timeline: the requests, then the refusals of each.
func when(b *strings.Builder, t *replay.Timeline, all []replay.Verdict, s Style) {
	if t == nil {
		return
	}
	columns := s.width() - 2
	requests, each := fit(t.Requests, columns)
	fmt.Fprintf(b, "\nover time, from %s UTC, %s a column\n", t.Start.Format(time.DateTime), length(t.Width*time.Duration(each)))
	draw := func(name string, n []int64) {
		most := int64(0)
		for _, v := range n {
			most = max(most, v)
		}
		fmt.Fprintf(b, "  %s, at most %s a column\n", name, console.Grouped(most))
		if most > 0 {
			b.WriteString(strings.TrimRight("  "+s.columns(n, most), " ") + "\n")
		}
	}
	draw("requests", requests)
	for i := range t.Refused {
		n, _ := fit(t.Refused[i], columns)
		draw("refused by "+title(&all[i]), n)
	}
}
