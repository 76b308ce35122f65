package logs

import "strings"

// What servers call the parts of a record, best first. Objects are named with points: {"request": {"uri": ""}} has request.uri.
var names = map[string][]string{
	"time": {"time", "timestamp", "ts", "@timestamp", "start_time", "time_iso8601", "msec", "time_local", "datetime", "date"},
	"client": {"client", "client_ip", "remote_ip", "remote_addr", "request.client_ip", "request.remote_ip", "ip",
		"downstream_remote_address", "downstream_remote_address_without_port", "request.remote_addr", "clientip", "host_ip"},
	"method": {"method", "request_method", "request.method", "http_method", "verb"},
	"path":   {"path", "uri", "request_uri", "request.uri", "url", "x_envoy_original_path"},
	"bytes":  {"bytes", "body_bytes_sent", "bytes_sent", "size", "response_size", "bytes_out"},
}

// wanted returns the names under which an input may hold the slot, best first.
func wanted(s slot, mapped map[string]string) []string {
	name := s.String()
	switch s.kind {
	case header:
		under := strings.ReplaceAll(s.name, "-", "_")
		all := []string{"request.headers." + s.name, "headers." + s.name, "http_" + under, s.name, under}
		return append(mapping(mapped, name), all...)
	case field:
		name = s.name
	}
	if to := mapping(mapped, name); to != nil {
		return to // and nothing else: its owner said so
	}
	if s.kind == field && s.name != "bytes" {
		return []string{s.name}
	}
	return names[name]
}

// mapping is what the owner of the input calls a name, if anything.
func mapping(mapped map[string]string, name string) []string {
	if to, ok := mapped[name]; ok {
		return []string{to}
	}
	return nil
}

// times returns the names under which an input may hold its time.
func times(mapped map[string]string) []string {
	if to := mapping(mapped, "time"); to != nil {
		return to
	}
	return names["time"]
}

// same compares names without regard to the case of ASCII letters.
func same(name string, b []byte) bool {
	if len(name) != len(b) {
		return false
	}
	for i := range b {
		if x, y := name[i], b[i]; x != y && (lower(x) != lower(y)) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
