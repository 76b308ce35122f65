package httplimit

import (
	"reflect"
	"testing"
)

func TestParseList(t *testing.T) {
	type params = map[string]any
	no := params(nil)
	o := other{}
	for _, row := range []struct {
		text string
		want []item // nil: malformed
		why  string
	}{
		{``, []item{}, "a list may be empty"},
		{`  `, []item{}, "and have space around it"},
		{`"a"`, []item{{"a", no}}, "a string"},
		{`""`, []item{{"", no}}, "an empty one"},
		{`"a\"\\b"`, []item{{`a"\b`, no}}, "escapes"},
		{`"a\b"`, nil, "but of two characters only"},
		{`"a\`, nil, "and of something"},
		{`"a`, nil, "no end"},
		{"\"a\tb\"", nil, "no control characters"},
		{`"é"`, nil, "nor others than ASCII"},
		{`"a";r=1;t=-2`, []item{{"a", params{"r": int64(1), "t": int64(-2)}}}, "integers"},
		{`"a";  r=1`, []item{{"a", params{"r": int64(1)}}}, "space before a key"},
		{`"a" ;r=1`, nil, "none before the semicolon"},
		{`"a";r =1`, nil, "nor before the sign"},
		{`"a";r= 1`, nil, "nor behind it"},
		{`"a";r=1;r=2`, []item{{"a", params{"r": int64(2)}}}, "the last one counts"},
		{`"a";R=1`, nil, "keys are in lower case"},
		{`"a";1=1`, nil, "and begin with a letter"},
		{`"a";*a_-.*9=1`, []item{{"a", params{"*a_-.*9": int64(1)}}}, "or with a star"},
		{`"a";r`, []item{{"a", params{"r": o}}}, "without a value it is true"},
		{`"a";`, nil, "a key is missing"},
		{`"a";r=`, nil, "a value is missing"},
		{`1, 2.5, -3`, []item{{int64(1), no}, {o, no}, {int64(-3), no}}, "numbers"},
		{`999999999999999`, []item{{int64(999999999999999), no}}, "15 digits"},
		{`1000000000000000`, nil, "16"},
		{`123456789012.123`, []item{{o, no}}, "a long decimal"},
		{`1234567890123.1`, nil, "a longer one"},
		{`1.1234`, nil, "too many decimals"},
		{`1.`, nil, "none"},
		{`-`, nil, "only a sign"},
		{`--1`, nil, "two signs"},
		{`tok*en:/x;a=*b`, []item{{o, params{"a": o}}}, "tokens"},
		{`:aGk=:, ::, :aGk:`, []item{{o, no}, {o, no}, {o, no}}, "bytes"},
		{`:a b:`, nil, "other characters"},
		{`:aGk=`, nil, "no end"},
		{"?0, ?1", []item{{o, no}, {o, no}}, "booleans"},
		{`?2`, nil, "no such one"},
		{`?`, nil, "nor this"},
		{`@1659578233, @-1`, []item{{o, no}, {o, no}}, "dates"},
		{`@1.5`, nil, "are whole"},
		{`@`, nil, "and numbers"},
		{`%"f%c3%bc"`, []item{{o, no}}, "text"},
		{`%"%c3"`, nil, "which is UTF-8"},
		{`%"%C3%BC"`, nil, "in lower case"},
		{`%"%c"`, nil, "whole"},
		{`%"a`, nil, "with an end"},
		{`%a`, nil, "and a beginning"},
		{"%\"\t\"", nil, "and no control characters"},
		{`("a" 1;x);y=2, b`, []item{{o, params{"y": int64(2)}}, {o, no}}, "an inner list"},
		{`( )`, []item{{o, no}}, "an empty one"},
		{`("a"`, nil, "no end"},
		{`("a""b")`, nil, "no space between"},
		{`("a",)`, nil, "a comma in it"},
		{`(`, nil, "nothing in it"},
		{`"a"	, 	"b"`, []item{{"a", no}, {"b", no}}, "tabs around the comma"},
		{`"a","b"`, []item{{"a", no}, {"b", no}}, "or nothing"},
		{`"a" "b"`, nil, "but a comma"},
		{`"a",`, nil, "nothing behind it"},
		{`"a",,"b"`, nil, "nothing between two"},
		{`,"a"`, nil, "nothing before it"},
		{"\t\"a\"", nil, "a tab before all"},
		{`=`, nil, "nothing known"},
		{`"a";r=)`, nil, "nor as a value"},
	} {
		got, ok := parseList(row.text)
		if got == nil && ok {
			got = []item{}
		}
		if ok != (row.want != nil) || !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %v, %v, want %v: %s", row.text, got, ok, row.want, row.why)
		}
	}
}
