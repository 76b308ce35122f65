package logline

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
)

const (
	logTime    = "02/Jan/2006:15:04:05 -0700"
	logTimeMax = 40 // bytes up to the bracket, some fraction included; bounds the search in a line full of brackets
)

// An Access is a line of the Combined log format, or of the Common one, which ends after Bytes:
//
//	client ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes "referer" "agent"
//
// Before the client may stand the host that was asked, as Apache's vhost_combined has it.
//
// The fields are as they stand in the line, so with a server's escapes, and empty if the line ends before them. Nothing in
// them is to be believed but Client and Time: clients write most of the rest.
type Access struct {
	Time    int64 // nanoseconds since the Unix epoch
	Client  []byte
	User    []byte // what stands between the client and the time, ident included
	Request []byte
	Status  []byte // three digits
	Bytes   []byte
	Referer []byte
	Agent   []byte
}

// Parse reads a line. The time is that of the first bracket that holds one and stands before a quote. A server writes a
// quote in the user's name as \" or \x22, so that a user cannot forge this; and what stands in the request comes too late.
func (a *Access) Parse(line []byte) error {
	*a = Access{}
	client, rest, _ := cut(line, ' ')
	if second, after, _ := cut(rest, ' '); isAddress(second) && !isAddress(client) {
		client, rest = second, after // no ident is an address, so the first word is a host that was asked
	}
	start := len(line) - len(rest) // of what follows the client
	if len(client) == 0 {
		return fmt.Errorf("empty client in %s", Show(line))
	}
	var why error // the first bracket's, mostly the only one's
	for at := start - 1; ; {
		i := bytes.Index(line[at:], []byte(" ["))
		if i < 0 {
			break
		}
		before := at + i
		at = before + 2
		after := line[at:]
		end := bytes.IndexByte(after[:min(len(after), logTimeMax)], ']')
		if end < 0 {
			continue
		}
		ns, err := parseLogTime(after[:end])
		if err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		request, ok := bytes.CutPrefix(after[end+1:], []byte(` "`))
		if !ok {
			if why == nil {
				why = fmt.Errorf("no quoted request after the time: %s", Show(after[end+1:]))
			}
			continue
		}
		size := requestEnd(request)
		if size < 0 {
			return fmt.Errorf("no status after the request: %s", Show(request))
		}
		a.Time, a.Client, a.User = ns, client, bytes.TrimSpace(line[min(start, before):before])
		a.Request, a.Status = request[:size], request[size+2:size+5]
		a.rest(request[size+5:])
		return nil
	}
	if why == nil {
		why = fmt.Errorf("no time in brackets in %s", Show(line))
	}
	return why
}

// isAddress reports whether s is an IP address. Of a dash, which most idents are, it tells at once.
func isAddress(s []byte) bool {
	const most = 64 // bytes, with a zone
	if len(s) < 2 || len(s) > most {
		return false
	}
	_, err := netip.ParseAddr(string(s))
	return err == nil
}

// rest reads ` bytes "referer" "agent"`, as far as it goes.
func (a *Access) rest(s []byte) {
	s, ok := bytes.CutPrefix(s, []byte(" "))
	if !ok {
		return
	}
	if a.Bytes, s, ok = cut(s, ' '); !ok {
		return
	}
	a.Referer, s = quoted(s)
	s = bytes.TrimPrefix(s, []byte(" "))
	a.Agent, _ = quoted(s)
}

// quoted takes a string in quotes off the front, in which a backslash escapes what follows it.
func quoted(s []byte) (inside, rest []byte) {
	if len(s) == 0 || s[0] != '"' {
		return nil, s
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[1:i], s[i+1:]
		}
	}
	return nil, nil
}

// Target splits the request "GET /path?query HTTP/1.1" into its method and its path without the query. Both are "-" if it is
// nothing of the kind, as what scanners send.
func (a *Access) Target() (method, path []byte) {
	method, rest, ok := cut(a.Request, ' ')
	if i := bytes.LastIndexByte(rest, ' '); ok && i > 0 && bytes.HasPrefix(rest[i+1:], []byte("HTTP/")) && token(method) {
		return method, Path(rest[:i])
	}
	return []byte("-"), []byte("-")
}

// Path is a request's target without its query.
func Path(target []byte) []byte {
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		return target[:i]
	}
	return target
}

// token reports whether s can be a method.
func token(s []byte) bool {
	for _, c := range s {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return len(s) > 0
}

func parseLogTime(s []byte) (int64, error) {
	if ns, ok := common(s); ok {
		return ns, nil
	}
	ns, err := Layout(logTime, s)
	switch {
	case err == nil:
		return ns, nil
	case errors.Is(err, ErrRange), errors.Is(err, ErrFine):
		return 0, fmt.Errorf("time %s is %w", Show(s), err)
	default:
		return 0, fmt.Errorf("time %s is not like %s", Show(s), logTime)
	}
}

// CommonTime reads 02/Jan/2006:15:04:05 -0700. An error names the value.
func CommonTime(s []byte) (int64, error) { return parseLogTime(s) }

// requestEnd returns where the closing quote is in s, which begins inside the quotes of a request, if a status of three
// digits follows it, else -1. A server that does not escape quotes leaves some inside a request: they are not followed by
// a status.
func requestEnd(s []byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if after := s[i+1:]; len(after) >= 4 && after[0] == ' ' && digits(after[1:4]) &&
				(len(after) == 4 || after[4] == ' ') {
				return i
			}
		}
	}
	return -1
}

// LikeAccess reports whether a line that is no log record was probably meant to be one: its time is broken, or the file was
// cut in the middle of the line.
func LikeAccess(line []byte) bool {
	return requestEnd(line) >= 0 || bytes.Contains(line, []byte(`] "`))
}
