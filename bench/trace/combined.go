package trace

import (
	"bytes"
	"errors"
	"fmt"
)

// A line of the Combined log format, and of the Common one, which ends after bytes:
//
//	client ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes "referer" "agent"
//
// Only client and time are used. The rest serves to tell a log line from noise, and is looked at no further than the
// status, because clients write the rest: user may hold spaces and brackets, request anything.
const (
	logTime    = "02/Jan/2006:15:04:05 -0700"
	logTimeMax = 40 // bytes up to the bracket, some fraction included; bounds the search in a line full of brackets
)

// parseCombined is a parser. The time is that of the first bracket that holds one and stands before a quote. A server
// writes a quote in the user's name as \" or \x22, so that a user cannot forge this; and what stands in the request
// comes too late.
func parseCombined(line []byte) (int64, []byte, int, error) {
	client, _, _ := bytes.Cut(line, []byte(" "))
	if len(client) == 0 {
		return 0, nil, 0, fmt.Errorf("empty client in %s", show(line))
	}
	var why error // the first bracket's, mostly the only one's
	for rest := line[len(client):]; ; {
		_, after, ok := bytes.Cut(rest, []byte(" ["))
		if !ok {
			break
		}
		rest = after
		end := bytes.IndexByte(after[:min(len(after), logTimeMax)], ']')
		if end < 0 {
			continue
		}
		at, err := parseLogTime(after[:end])
		if err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		request, ok := bytes.CutPrefix(after[end+1:], []byte(` "`))
		if !ok {
			if why == nil {
				why = fmt.Errorf("no quoted request after the time: %s", show(after[end+1:]))
			}
			continue
		}
		if !hasStatus(request) {
			return 0, nil, 0, fmt.Errorf("no status after the request: %s", show(request))
		}
		return at, client, 1, nil
	}
	if why == nil {
		why = fmt.Errorf("no time in brackets in %s", show(line))
	}
	return 0, nil, 0, why
}

func parseLogTime(s []byte) (int64, error) {
	ns, err := parseLayout(logTime, s)
	switch {
	case err == nil:
		return ns, nil
	case errors.Is(err, errRange), errors.Is(err, errFine):
		return 0, fmt.Errorf("time %s is %w", show(s), err)
	default:
		return 0, fmt.Errorf("time %s is not like %s", show(s), logTime)
	}
}

// hasStatus reports whether s, which begins inside the quotes of a request, goes on with the closing quote and a status of
// three digits. A server that does not escape quotes leaves some inside a request: they are not followed by a status.
func hasStatus(s []byte) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if after := s[i+1:]; len(after) >= 4 && after[0] == ' ' && digits(after[1:4]) &&
				(len(after) == 4 || after[4] == ' ') {
				return true
			}
		}
	}
	return false
}

// likeLog reports whether a line that is no log record was probably meant to be one: its time is broken, or the file was cut
// in the middle of the line.
func likeLog(line []byte) bool {
	return hasStatus(line) || bytes.Contains(line, []byte(`] "`))
}
