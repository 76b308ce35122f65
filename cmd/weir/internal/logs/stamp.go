package logs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/internal/logline"
)

// A stamp reads the time of a record. It finds the format by the first one that it can read, and keeps to it, so that the
// numbers of one file are not seconds here and milliseconds there.
type stamp struct {
	as     as
	digits int    // of as == epoch: 0 seconds, 3, 6 or 9
	layout string // of as == layout
}

type as int

const (
	unknown as = iota
	epoch
	rfc3339
	common
	layout
)

var epochs = map[string]int{"unix": 0, "unixms": 3, "unixus": 6, "unixns": 9}

// ParseStamp checks a format of times: unix, unixms, unixus, unixns, rfc3339, clf, or a layout of package time, whose times
// are UTC if it names no zone. "" finds the format by the first record.
func ParseStamp(s string) error {
	_, err := newStamp(s)
	return err
}

func newStamp(s string) (stamp, error) {
	if digits, ok := epochs[s]; ok {
		return stamp{as: epoch, digits: digits}, nil
	}
	switch s {
	case "":
		return stamp{}, nil
	case "rfc3339":
		return stamp{as: rfc3339}, nil
	case "clf":
		return stamp{as: common}, nil
	}
	// Two times that differ in every part have different texts, if there is a date and a time of day in the layout.
	a := time.Date(1999, 11, 22, 13, 14, 15, 0, time.UTC)
	back, err := time.Parse(s, a.Format(s))
	if err != nil || !back.Equal(a) {
		return stamp{}, fmt.Errorf("time format %.60q is none of unix, unixms, unixus, unixns, rfc3339, clf, nor a layout such as %q", s, time.DateTime)
	}
	return stamp{as: layout, layout: s}, nil
}

var errStamp = errors.New("is no time that is known by itself: say how to read it, as in -time-format '2006-01-02 15:04:05'")

func (t *stamp) read(s []byte) (int64, error) {
	s = bytes.TrimSpace(s)
	switch t.as {
	case epoch:
		ns, is, err := logline.EpochIn(s, t.digits)
		switch {
		case !is:
			return 0, fmt.Errorf("time %s is not a number of %s", logline.Show(s), t.unit())
		case err != nil:
			return 0, fmt.Errorf("time %s, in %s, is %w", logline.Show(s), t.unit(), err)
		}
		return ns, nil
	case rfc3339:
		return logline.Instant(s)
	case common:
		return logline.CommonTime(s)
	case layout:
		ns, err := logline.Layout(t.layout, s)
		if err != nil {
			return 0, fmt.Errorf("time %s is not like %s", logline.Show(s), logline.Show([]byte(t.layout)))
		}
		return ns, nil
	}
	if _, is, _ := logline.Epoch(s); is {
		found := stamp{as: epoch, digits: unitOf(s)}
		ns, err := found.read(s)
		if err == nil {
			*t = found
		}
		return ns, err
	}
	if ns, err := logline.Instant(s); err == nil {
		t.as = rfc3339
		return ns, nil
	}
	if ns, err := logline.CommonTime(s); err == nil {
		t.as = common
		return ns, nil
	}
	return 0, fmt.Errorf("time %s %w", logline.Show(s), errStamp)
}

func (t *stamp) unit() string {
	return []string{"seconds", "milliseconds", "microseconds", "nanoseconds"}[t.digits/3]
}

// unitOf finds the unit of a number by its length: of a time between the years 1973 and 5138, in each unit.
func unitOf(s []byte) (digits int) {
	whole, _, _ := strings.Cut(strings.TrimLeft(string(s), "+-0"), ".")
	switch n := len(whole); {
	case n <= 11:
		return 0
	case n <= 14:
		return 3
	case n <= 17:
		return 6
	}
	return 9
}
