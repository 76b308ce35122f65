package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/weir-go/weir/gcra"
)

// limits are those of each client, and of all together.
type limits struct{ client, global gcra.Limit }

func (l limits) String() string { return fmt.Sprintf("client %v, global %v", l.client, l.global) }

// named returns the limit of that name, or nil.
func (l *limits) named(name string) *gcra.Limit {
	switch name {
	case "client":
		return &l.client
	case "global":
		return &l.global
	}
	return nil
}

// readLimits reads a file of limits. One that is not in it is as in l.
func readLimits(path string, l limits) (limits, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	to, err := parseLimits(text, l)
	if err != nil {
		return l, fmt.Errorf("%s:%w", path, err)
	}
	return to, nil
}

// parseLimits reads lines of a name and a limit. Empty ones, and those that
// begin with #, mean nothing:
//
//	# from 8 to 20 h
//	client 50/s burst 100
//	global 5000/s burst 500
func parseLimits(text []byte, l limits) (limits, error) {
	n, seen := 0, map[string]bool{}
	for line := range bytes.Lines(text) {
		n++
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		to := l.named(name)
		if to == nil {
			return l, fmt.Errorf("%d: no limit is called %.20q: want client or global", n, name)
		}
		if seen[name] {
			return l, fmt.Errorf("%d: a second limit for %s", n, name)
		}
		seen[name] = true
		var err error
		if *to, err = gcra.Parse(strings.TrimSpace(value)); err != nil {
			return l, fmt.Errorf("%d: %w", n, err)
		}
	}
	return l, nil
}

// prefixes are the networks of a flag: addresses and prefixes, separated by
// commas.
type prefixes []netip.Prefix

func (p prefixes) String() string {
	text := make([]string, len(p))
	for i := range p {
		text[i] = p[i].String()
	}
	return strings.Join(text, ",")
}

// Set adds to what an earlier flag said.
func (p *prefixes) Set(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		prefix, err := netip.ParsePrefix(item)
		if addr, e := netip.ParseAddr(item); e == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%.50q is neither an address nor a prefix", item)
		}
		*p = append(*p, prefix.Masked())
	}
	if !p.sound() {
		return fmt.Errorf("%v trusts everybody, who could be whom they like", p)
	}
	return nil
}

// sound reports whether there is somebody whom none of the prefixes trusts.
func (p prefixes) sound() bool {
	for _, prefix := range p {
		if !prefix.IsValid() || prefix.Bits() == 0 || prefix.Addr().Is4In6() && prefix.Bits() <= 96 {
			return false
		}
	}
	return true
}

// contain reports whether one of them has the connection's other end.
func (p prefixes) contain(remoteAddr string) bool {
	peer, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	addr := peer.Addr().Unmap().WithZone("")
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
