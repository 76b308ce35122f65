package httplimit

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/weir-go/weir/gcra"
)

// refuse answers a request that was refused.
func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, d gcra.Decision) {
	h := w.Header()
	h["Cache-Control"] = []string{"no-store"} // the next one may be granted
	if wait := d.RetryAfter(); wait != gcra.Never {
		h[retryAfter] = []string{strconv.FormatInt(seconds(wait), 10)}
	} else {
		delete(h, retryAfter)
	}
	switch status := status(d); {
	case m.denied != nil:
		m.denied(w, r, d)
	case m.problem:
		m.writeProblem(w, status, d.Limit())
	default:
		http.Error(w, http.StatusText(status), status)
	}
}

// status returns 429, or 413 for a request that costs more than its limit ever
// gives at once: it is not one too many but one too large, and clients retry a
// 429. Where the limit gives nothing to anybody no smaller one would pass.
func status(d gcra.Decision) int {
	if d.Err() == gcra.ErrExceedsBurst && d.Limit() != (gcra.Limit{}) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusTooManyRequests
}

// quotaExceeded is the problem type of the RateLimit draft.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// A problem is a problem details object.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies"`
}

func (m *middleware) writeProblem(w http.ResponseWriter, status int, limit gcra.Limit) {
	p := problem{quotaExceeded, "Quota Exceeded", status, []string{}}
	if status != http.StatusTooManyRequests {
		p.Title = "Request Exceeds Quota"
	}
	if violated := m.policies.of(&limit); violated != nil {
		p.Violated = append(p.Violated, violated.name)
	}
	body, err := json.Marshal(p)
	if err != nil { // strings and a number: it cannot be
		panic(err)
	}
	h := w.Header()
	delete(h, "Content-Length") // as http.Error does
	h["Content-Type"] = []string{"application/problem+json"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
