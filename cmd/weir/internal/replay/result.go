package replay

import (
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/gcra"
)

// Schema names the form of a Result in JSON. Within a version names keep their meaning, and names may be added.
const Schema = "weir/replay/1"

// A Result is what a replay found. All numbers are exact, unless their comment says otherwise; durations are nanoseconds.
type Result struct {
	Schema   string       `json:"schema"`
	Input    logs.Summary `json:"input"`
	Requests int64        `json:"requests"`
	Joint    bool         `json:"joint"`
	Limits   []Verdict    `json:"limits"` // as given
	Together *Verdict     `json:"together,omitempty"`
	Timeline *Timeline    `json:"timeline"`
}

// A Verdict is what one limit did, or all of them together.
//
// Where limits are joint, Granted is what all granted, and Refused are the requests for which this limit was named, which is
// the one that has to be waited for longest; they sum up to the refusals of all together. Tokens of all together are by the cost of the first limit.
type Verdict struct {
	Name    string     `json:"name"`
	Key     string     `json:"key"`
	Cost    string     `json:"cost"`
	Limit   gcra.Limit `json:"limit"`
	Granted int64      `json:"granted"` // requests
	Refused int64      `json:"refused"`
	Never   int64      `json:"refused_for_ever"` // of those: above the burst, or of an allowance that is used up

	GrantedTokens int64         `json:"granted_tokens"` // at most MaxInt64, as the next
	RefusedTokens int64         `json:"refused_tokens"`
	LongestWait   time.Duration `json:"longest_wait_ns"` // the longest RetryAfter but for ever

	Keys            int64 `json:"keys"`         // distinct ones; if keys had to be forgotten, at least
	KeysAtMost      int64 `json:"keys_at_most"` // and at most
	RefusedKeys     int64 `json:"refused_keys"` // keys that were refused something; likewise
	RefusedKeysMost int64 `json:"refused_keys_at_most"`
	Forgotten       int64 `json:"forgotten"` // keys, each as often as it was
	Unstored        int64 `json:"unstored"`  // requests that were decided as of a key never seen, for want of room

	// PastRange counts requests that came when the limit's clock stood at its end, years after the first of all: nothing
	// refills then. It is not of all together.
	PastRange int64 `json:"past_range"`

	MostRefused []KeyCount `json:"most_refused"`    // the first first, then by key
	MayLack     int64      `json:"counts_may_lack"` // refusals that a key of MostRefused may have had besides; 0 is exact
}

// A KeyCount is what one key asked.
type KeyCount struct {
	Key      string `json:"key"`
	Refused  int64  `json:"refused"`
	Requests int64  `json:"requests"` // at least, if keys had to be forgotten
}
