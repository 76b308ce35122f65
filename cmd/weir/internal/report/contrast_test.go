package report

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"regexp"
	"strings"
	"testing"
)

var variable = regexp.MustCompile(`--([a-z0-9]+):#([0-9a-f]{3,6})\b`)

// colours reads the variables of a rule.
func colours(t *testing.T, rule string) map[string]color.Color {
	t.Helper()
	all := map[string]color.Color{}
	for _, m := range variable.FindAllStringSubmatch(rule, -1) {
		c, hex := color.RGBA{A: 255}, m[2]
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		if _, err := fmt.Sscanf(hex, "%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
			t.Fatal(err)
		}
		all[m[1]] = c
	}
	return all
}

// Words and drawings stand out as WCAG 2 AA asks, by light and by dark.
func TestContrast(t *testing.T) {
	if c := contrast(color.White, color.Black); c < 20.99 || c > 21.01 {
		t.Fatalf("black on white is %v, want 21", c)
	}
	rules := strings.Split(pageStyle, "\n")
	light, dark := colours(t, rules[1]), map[string]color.Color(nil)
	for _, r := range rules {
		if strings.Contains(r, "prefers-color-scheme:dark") {
			dark = colours(t, r)
		}
	}
	if len(light) < 10 || len(light) != len(dark) {
		t.Fatalf("%d and %d colours were found", len(light), len(dark))
	}
	for scheme, all := range map[string]map[string]color.Color{"light": light, "dark": dark} {
		for _, row := range []struct {
			names, papers string
			least         float64
		}{
			{"ink soft accent refused", "paper card", 4.5}, // words
			{"q0 q1 q2 q3 request edge", "paper", 3},       // lines
		} {
			for name := range strings.FieldsSeq(row.names) {
				for paper := range strings.FieldsSeq(row.papers) {
					if all[name] == nil || all[paper] == nil {
						t.Fatalf("no colour %s or %s", name, paper)
					}
					if c := contrast(all[name], all[paper]); c < row.least {
						t.Errorf("%s: %s on %s is %.2f, want %v", scheme, name, paper, c, row.least)
					}
				}
			}
		}
	}
	if used := regexp.MustCompile(`#[0-9a-f]{3,6}\b`).FindAllString(pageStyle, -1); len(used) != len(light)+len(dark) {
		t.Errorf("%d colours are used, %d are variables", len(used), len(light)+len(dark))
	}
	for name := range maps.Keys(light) {
		if !strings.Contains(pageStyle, "var(--"+name+")") {
			t.Errorf("--%s is not used", name)
		}
	}
}

// contrast is that of WCAG 2: from 1 to 21.
func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	f := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*f(r) + 0.7152*f(g) + 0.0722*f(b)
}
