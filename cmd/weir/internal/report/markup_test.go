package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A node is an element of a page, which is well-formed XML.
type node struct {
	name string
	attr map[string]string
	kids []*node
	own  string // text outside of elements
	text string // all of it
}

// read takes a page apart.
func read(t testing.TB, page []byte) *node {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	root := &node{}
	path := []*node{root}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, _ := d.InputPos()
			t.Fatalf("line %d: %v", line, err)
		}
		top := path[len(path)-1]
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{name: x.Name.Local, attr: map[string]string{}}
			for _, a := range x.Attr {
				if _, twice := n.attr[a.Name.Local]; twice {
					t.Errorf("%s has %s twice", n.name, a.Name.Local)
				}
				n.attr[a.Name.Local] = a.Value
			}
			top.kids = append(top.kids, n)
			path = append(path, n)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			top.own += string(x)
			for _, n := range path {
				n.text += string(x)
			}
		}
	}
	return root
}

// all returns the elements below that match: a name, or a dot and a class.
func (n *node) all(want string) (found []*node) {
	for _, k := range n.kids {
		class, isClass := strings.CutPrefix(want, ".")
		if isClass && slices.Contains(strings.Fields(k.attr["class"]), class) || k.name == want || want == "*" {
			found = append(found, k)
		}
		found = append(found, k.all(want)...)
	}
	return found
}

// one returns the only one.
func (n *node) one(t testing.TB, want string) *node {
	t.Helper()
	all := n.all(want)
	if len(all) != 1 {
		t.Fatalf("%d of %s, want 1", len(all), want)
	}
	return all[0]
}

// clean is the text with plain spaces.
func (n *node) clean() string {
	return strings.Join(strings.Fields(strings.ReplaceAll(n.text, nbsp, " ")), " ")
}

// cells are the rows of a table, with its head.
func (n *node) cells() (rows [][]string) {
	for _, tr := range n.all("tr") {
		var row []string
		for _, c := range tr.kids {
			row = append(row, c.clean())
		}
		rows = append(rows, row)
	}
	return rows
}

// elements are all that a page may be made of, with their attributes.
var elements = map[string]string{
	"html": "lang", "head": "", "meta": "charset name content http-equiv", "title": "id", "link": "rel href", "style": "", "body": "", "main": "",
	"header": "", "footer": "", "section": "id aria-labelledby", "article": "class", "figure": "", "div": "class role tabindex aria-label",
	"h1": "", "h2": "id", "h3": "", "h4": "", "p": "class", "span": "class", "small": "", "bdi": "class", "code": "", "wbr": "", "dl": "class", "dt": "", "dd": "",
	"ul": "class", "ol": "", "li": "", "details": "", "summary": "", "table": "class", "caption": "", "thead": "", "tbody": "", "tr": "", "th": "scope", "td": "",
	"svg": "class viewBox role aria-labelledby aria-hidden preserveAspectRatio", "desc": "id", "path": "class d", "circle": "class cx cy r",
	"rect": "class width height", "text": "class text-anchor x y",
}

var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9])?$`)

// check finds what must be in no page, whatever is in the log.
func check(t testing.TB, page []byte) {
	t.Helper()
	root := read(t, page)
	ids := map[string]*node{}
	for _, n := range root.all("*") {
		allowed, known := elements[n.name]
		if !known {
			t.Errorf("a page has no <%s>", n.name)
			continue
		}
		for name, value := range n.attr {
			if !slices.Contains(strings.Fields(allowed), name) {
				t.Errorf("a <%s> has no %s=%q", n.name, name, value)
			}
			if name == "href" && value != "data:," {
				t.Errorf("it fetches %q", value)
			}
			if slices.Contains([]string{"x", "y", "r", "cx", "cy", "width", "height"}, name) && !number.MatchString(value) {
				t.Errorf("<%s %s=%q>: not a number", n.name, name, value)
			}
		}
		if d := n.attr["d"]; strings.Trim(d, "MLHVZ0123456789.- ") != "" {
			t.Errorf("a path is %q", d)
		}
		if id := n.attr["id"]; id != "" {
			if ids[id] != nil {
				t.Errorf("two elements are %q", id)
			}
			ids[id] = n
		}
	}
	for _, n := range root.all("*") {
		for id := range strings.FieldsSeq(n.attr["aria-labelledby"]) {
			if ids[id] == nil || ids[id].clean() == "" {
				t.Errorf("the label %q of a <%s> says nothing", id, n.name)
			}
		}
	}
	for _, svg := range root.all("svg") {
		if svg.attr["aria-hidden"] != "true" && (svg.attr["role"] != "img" || svg.attr["aria-labelledby"] == "") {
			t.Error("a drawing has no words for those who do not see it")
		}
	}
	for _, table := range root.all("table") {
		if table.one(t, "caption").clean() == "" {
			t.Error("a table has no caption")
		}
		for _, th := range table.all("th") {
			if s := th.attr["scope"]; s != "row" && s != "col" {
				t.Errorf("the scope of a header is %q", s)
			}
		}
		rows := table.cells()
		for _, row := range rows {
			if len(row) != len(rows[0]) {
				t.Errorf("a row has %d cells, the head %d", len(row), len(rows[0]))
			}
		}
	}
	level := 0
	for _, n := range root.all("*") {
		if len(n.name) == 2 && n.name[0] == 'h' && n.name[1] >= '1' && n.name[1] <= '4' {
			if at := int(n.name[1] - '0'); at > level+1 {
				t.Errorf("<%s> %s comes after a heading of level %d", n.name, n.clean(), level)
			} else {
				level = at
			}
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!", "ZgotmplZ", "\u202e", "\u200b"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("%q is in the page", bad)
		}
	}
	for _, c := range page {
		if c < ' ' && c != '\n' || c == 0x7f {
			t.Errorf("the byte %#x is in the page", c)
			break
		}
	}
}

// Every page is sound.
func TestMarkup(t *testing.T) {
	for _, p := range pages(t) {
		t.Run(p.name, func(t *testing.T) { check(t, p.html) })
	}
}

// The check finds what is wrong: each row breaks a good page. It fails through a testing.TB that only counts.
func TestMarkupRefuses(t *testing.T) {
	good := string(inputNamed(t, "busy").page(t))
	for _, row := range []struct{ old, new, why string }{
		{"<main>", "<main><script>1</script>", "a script"},
		{"<main>", `<main><img src="x"/>`, "a picture"},
		{"<h1>", `<h1 onclick="x">`, "a handler"},
		{`href="data:,"`, `href="https://example.com/"`, "the network"},
		{`<h2 id="when-h">`, `<h2 id="curve-h">`, "an id twice"},
		{`scope="col"`, ``, "a header of nothing"},
		{`role="img"`, ``, "a drawing without a role"},
		{`<h3>`, `<h3>` + "\u202e", "a mark that turns the line"},
		{`<caption>`, `<caption></caption><caption>`, "two captions"},
		{`viewBox="0 0 340`, `onload="1" viewBox="0 0 340`, "a handler in a drawing"},
		{`<p class="eyebrow">`, "<p class=\"eyebrow\">\x1b", "a control character"},
		{`<h3>`, `<h4>x</h4><h3>`, "a level left out"},
	} {
		broken := strings.ReplaceAll(good, row.old, row.new)
		if broken == good {
			t.Errorf("%q is not in the page", row.old)
		}
		if c := (&counting{TB: t}); c.passes(func() { check(c, []byte(broken)) }) {
			t.Errorf("%s passes", row.why)
		}
	}
}

// A counting is a test that may fail.
type counting struct {
	testing.TB
	failed bool
}

func (c *counting) Helper()               {}
func (c *counting) Error(...any)          { c.failed = true }
func (c *counting) Errorf(string, ...any) { c.failed = true }
func (c *counting) Fatalf(string, ...any) { panic(c) }

func (c *counting) passes(f func()) (ok bool) {
	defer func() {
		if x := recover(); x != nil && x != any(c) {
			panic(x)
		} else if x != nil {
			ok = false
		}
	}()
	f()
	return !c.failed
}
