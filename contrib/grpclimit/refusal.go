package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// Unknown is the After of a Refusal of which nobody says when it would pass.
const Unknown time.Duration = -1

// A Refusal is the error of a call or message that was refused in this process.
// It is a gRPC status (ResourceExhausted, with details), and errors.Is finds in
// it why: gcra.ErrLimited, gcra.ErrExceedsBurst, gcra.ErrCost, or
// context.DeadlineExceeded if the call would have had to wait past its deadline.
type Refusal struct {
	Method   string        // full
	Policy   string        // see WithPolicy
	Decision gcra.Decision // the zero Decision if the limiter was Waiting
	After    time.Duration // when it would pass, gcra.Never, or Unknown
	Err      error
}

// Error says which policy refused and when to come back.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("rate limit %q: %v", r.Policy, r.Err)
	if r.timed() {
		text += fmt.Sprintf(", retry after %v", r.After)
	}
	return text
}

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

func (r *Refusal) timed() bool { return r.After >= 0 && r.After != gcra.Never }

// GRPCStatus is what a caller over the network gets.
func (r *Refusal) GRPCStatus() *status.Status {
	what := r.Err.Error()
	if limit := r.Decision.Limit(); limit != (gcra.Limit{}) {
		what = fmt.Sprintf("%v: %v", limit, r.Err)
	}
	s := status.New(codes.ResourceExhausted, r.Error())
	quota := &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: r.Policy, Description: what}}}
	full, err := s.WithDetails(quota)
	if err == nil && r.timed() {
		full, err = full.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.After)})
	}
	if err != nil {
		return s // they could not be encoded
	}
	return full
}

// RetryAfter returns when the call that got this error would pass, if it says
// so: it is a [Refusal], or a status with RetryInfo that came from a server.
func RetryAfter(err error) (d time.Duration, ok bool) {
	if r := new(Refusal); errors.As(err, &r) {
		return r.After, r.timed()
	}
	s, _ := status.FromError(err)
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			d := info.GetRetryDelay()
			return d.AsDuration(), d.CheckValid() == nil && d.AsDuration() >= 0
		}
	}
	return 0, false
}

// refusal tells a refusal by a Waiter from an error, for which it returns nil.
func refusal(err error) *Refusal {
	r := &Refusal{After: Unknown, Err: err}
	if wait := new(gatomic.WaitError); errors.As(err, &wait) {
		r.After = wait.Delay
		return r
	}
	switch {
	case errors.Is(err, gcra.ErrLimited):
		return r
	case errors.Is(err, gcra.ErrExceedsBurst), errors.Is(err, gcra.ErrCost):
		r.After = gcra.Never
		return r
	}
	return nil
}

const pushbackKey = "grpc-retry-pushback-ms"

// pushback returns the trailer that goes with the refusal. again tells whether
// a retry sends nothing that was charged already.
func (c *config) pushback(ctx context.Context, r *Refusal, again bool) metadata.MD {
	if again && r.After == Unknown {
		return nil // the client has a backoff of its own
	}
	ms := int64(-1)
	if again && r.timed() && r.After <= c.longest && inTime(ctx, r.After) {
		if ms = r.After.Milliseconds(); r.After%time.Millisecond > 0 {
			ms++
		}
	}
	return metadata.Pairs(pushbackKey, strconv.FormatInt(ms, 10))
}

// inTime reports whether that long from now is before the deadline.
func inTime(ctx context.Context, d time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || d < time.Until(end)
}
