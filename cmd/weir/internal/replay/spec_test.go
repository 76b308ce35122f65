package replay

import (
	"strings"
	"testing"
)

func TestParseSpec(t *testing.T) {
	for _, row := range []struct{ in, name, key, cost, limit, err string }{
		{"100/s burst 20", "", "default", "default", "100/s burst 20", ""},
		{"all: 5/s", "", "all", "default", "5/s burst 1", ""},
		{"gold=header:X-Api-Key,path:5/s", "gold", "header:X-Api-Key,path", "default", "5/s burst 1", ""},
		{"client cost bytes: 5/s", "", "client", "bytes", "5/s burst 1", ""},
		{"t=cost tokens: 5/s", "t", "default", "tokens", "5/s burst 1", ""},
		{"cost 1: 5/s", "", "default", "1", "5/s burst 1", ""},
		{"field:a=b: 5/s", "", "a=b", "default", "5/s burst 1", ""},
		{": 5/s", "", "default", "default", "5/s burst 1", ""},
		{"5/x", "", "", "", "", `limit "5/x", "5/x" at byte 0`},
		{"all: 5/x", "", "", "", "", `limit "5/x", "5/x" at byte 0`},
		{"header:: 5/s", "", "", "", "", `key "header:": "header:" names nothing`},
		{"client cost -: 5/s", "", "", "", "", "want 1 or the name of a field"},
		{"", "", "", "", "", "is empty"},
		{"client:", "", "", "", "", "is empty"},
	} {
		s, err := ParseSpec(row.in)
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) || strings.Count(err.Error(), "limit ") > 1 {
				t.Errorf("%q: %v, want %q", row.in, err, row.err)
			}
			continue
		}
		if err != nil || s.Name != row.name || s.Key.String() != row.key || s.Cost.String() != row.cost || s.Limit.String() != row.limit {
			t.Errorf("%q: %+v, %v", row.in, s, err)
		}
	}
}
