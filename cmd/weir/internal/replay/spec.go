package replay

import (
	"errors"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/gcra"
)

// A Spec is a limit with what it applies to.
type Spec struct {
	Name  string // "" for none
	Key   logs.Key
	Cost  logs.Cost
	Limit gcra.Limit
}

// ParseSpec reads [NAME=][KEY] [cost FIELD]: LIMIT, of which all but the limit may be missing:
//
//	100/s burst 20
//	all: 500/s burst 100
//	gold=header:X-Api-Key: 50/s burst 10
//	client cost bytes: 1000000/s burst 5000000
//
// A limit has no colon and no equals sign, so the last colon ends what it applies to. An error says which part of s is wrong.
func ParseSpec(s string) (Spec, error) {
	var spec Spec
	var err error
	text := s
	if name, rest, ok := strings.Cut(s, "="); ok && isName(name) {
		spec.Name, text = name, rest
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		words := strings.Fields(text[:i])
		text = text[i+1:]
		if n := len(words); n >= 2 && words[n-2] == "cost" {
			if spec.Cost, err = logs.ParseCost(words[n-1]); err != nil {
				return Spec{}, err
			}
			words = words[:n-2]
		}
		if len(words) > 0 {
			if spec.Key, err = logs.ParseKey(strings.Join(words, " ")); err != nil {
				return Spec{}, err
			}
		}
	}
	if spec.Limit, err = gcra.Parse(strings.TrimSpace(text)); err != nil {
		return Spec{}, errors.New(strings.TrimPrefix(err.Error(), "gcra: "))
	}
	return spec, nil
}

func isName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return s != ""
}
