package httplimit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A policy is a limit with the name that clients know it by.
type policy struct {
	name   string
	quoted string // as a string of a structured field
	limit  func() gcra.Limit
}

type policies struct{ list []policy }

// check panics if the options make no sense together.
func (ps *policies) check() {
	for i, p := range ps.list {
		if p.limit == nil && len(ps.list) > 1 {
			panic(fmt.Sprintf("httplimit: policy %q of several has no limit", p.name))
		}
		if slices.ContainsFunc(ps.list[:i], func(q policy) bool { return q.name == p.name }) {
			panic(fmt.Sprintf("httplimit: two policies named %q", p.name))
		}
	}
}

// current returns the limit in force under the i-th policy, for a decision by
// that limit.
func (ps *policies) current(i int, decided *gcra.Limit) gcra.Limit {
	if limit := ps.list[i].limit; limit != nil {
		return limit()
	}
	return *decided
}

// of returns the policy that the decision was made by. It is nil if there is
// none, as when the limit was changed in between: better no item than one with
// another policy's name.
func (ps *policies) of(decided *gcra.Limit) *policy {
	for i := range ps.list {
		if ps.current(i, decided) == *decided {
			return &ps.list[i]
		}
	}
	return nil
}

// advertise appends the value of RateLimit-Policy, which is empty if nothing
// limits.
func (ps *policies) advertise(b []byte, decided *gcra.Limit) []byte {
	for i := range ps.list {
		l := ps.current(i, decided)
		if l == gcra.Unlimited() {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = appendPolicy(b, ps.list[i].quoted, l)
	}
	return b
}

// appendPolicy appends an item of RateLimit-Policy: the burst, and the time in
// which it refills, which is left out if it never does.
func appendPolicy(b []byte, quoted string, l gcra.Limit) []byte {
	b = append(append(b, quoted...), ";q="...)
	b = strconv.AppendInt(b, min(int64(l.Capacity()), most), 10)
	if fill := l.FillTime(); fill != gcra.Never && l.Capacity() > 0 {
		b = append(b, ";w="...)
		b = strconv.AppendInt(b, int64((fill-1)/time.Second)+1, 10)
	}
	return b
}

// quote writes a name as a string of a structured field (RFC 9651).
func quote(name string) string {
	b := []byte{'"'}
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			panic(fmt.Sprintf("httplimit: policy name %q is not printable ASCII", name))
		}
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	if len(b) == 1 {
		panic("httplimit: empty policy name")
	}
	return string(append(b, '"'))
}
