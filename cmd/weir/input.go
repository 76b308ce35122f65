package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/text"
	"github.com/weir-go/weir/internal/console"
)

// input is what replay and advise have in common: what to read, and how to print.
type input struct {
	p         *program
	key       string
	cost      string
	o         logs.Options
	maxKeys   int
	anonymize bool
	strict    bool
	json      bool
	ascii     bool
	progress  bool
	secret    []byte // of -anonymize
}

func newInput(p *program, f *flag.FlagSet) *input {
	in := &input{p: p}
	in.o.Fields = make(map[string]string)
	f.StringVar(&in.key, "key", "", "what tells one `KEY` from another")
	f.StringVar(&in.cost, "cost", "", "what a request costs: 1 or a `FIELD`")
	f.StringVar(&in.o.Format, "format", "auto", "`FORMAT` of the files: "+strings.Join(logs.Formats(), ", "))
	f.StringVar(&in.o.TimeFormat, "time-format", "", "`FORMAT` of times: unix, unixms, unixus, unixns, rfc3339, clf, or a layout of Go's (found by itself)")
	f.Var(fields(in.o.Fields), "field", "`NAME=FIELD`: JSON and tables call NAME (time, client, method, path, bytes, header:X) FIELD; repeatable")
	f.DurationVar(&in.o.Window, "window", 5*time.Second, "how far lines may stand out of order, a `DURATION`")
	f.IntVar(&in.maxKeys, "max-keys", 2_000_000, "keys of one kind that are told apart, a `NUMBER`: about 150 bytes each")
	f.BoolVar(&in.anonymize, "anonymize", false, "print keys as hashes under a key that is forgotten, and nothing else of the lines")
	f.BoolVar(&in.strict, "strict", false, "exit with 1 if a line is broken")
	f.BoolVar(&in.json, "json", false, "print one JSON document instead of text (docs/json.md says what is in it)")
	f.BoolVar(&in.ascii, "ascii", false, "draw with ASCII characters")
	f.BoolVar(&in.progress, "progress", false, "tell how far it is also where stderr is no terminal")
	return in
}

// fields is the flag -field.
type fields map[string]string

func (f fields) String() string { return "" }

func (f fields) Set(s string) error {
	name, to, ok := strings.Cut(s, "=")
	if !ok || name == "" || to == "" {
		return errors.New("want NAME=FIELD")
	}
	f[name] = to
	return nil
}

// options checks the flags and returns what -key and -cost say.
func (in *input) options(files []string) (key logs.Key, cost logs.Cost, err error) {
	if in.key != "" {
		if key, err = logs.ParseKey(in.key); err != nil {
			return key, cost, usage("-key: %w", err)
		}
	}
	if in.cost != "" {
		if cost, err = logs.ParseCost(in.cost); err != nil {
			return key, cost, usage("-cost: %w", err)
		}
	}
	switch {
	case in.o.Window < 0:
		return key, cost, usage("-window %v is negative", in.o.Window)
	case in.maxKeys < 1:
		return key, cost, usage("-max-keys %d: want 1 or more", in.maxKeys)
	case len(files) == 0:
		return key, cost, usage("name a file, or - for standard input")
	}
	in.o.Stdin, in.o.Hide = in.p.stdin, in.anonymize
	if in.anonymize && in.secret == nil {
		in.secret = make([]byte, 32)
		rand.Read(in.secret) // it cannot fail
	}
	return key, cost, nil
}

// show writes a key into a result.
func (in *input) show(key []byte) string {
	if !in.anonymize || len(key) == 0 {
		return logs.KeyText(key)
	}
	h := hmac.New(sha256.New, in.secret)
	h.Write(key)
	return "key-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// read reads the files, with progress, and of each line what the keys and costs are made of.
func (in *input) read(files []string, keys []logs.Key, costs []logs.Cost, each func(*logs.Record) error) (*logs.Summary, *progress, error) {
	in.o.Keys, in.o.Costs = keys, costs
	if err := in.o.Check(); err != nil {
		return nil, nil, usageError{err}
	}
	w := &progress{Progress: console.NewProgress(in.p.stderr), on: in.progress, told: time.Now()}
	w.on = w.on || w.Live()
	in.o.Progress = func(at logs.Position) {
		part := ""
		if at.Size > 0 {
			part = fmt.Sprintf(", %d %%", at.Read*100/at.Size)
		}
		w.tell("reading: %s lines%s", console.Grouped(at.Lines), part)
	}
	sum, err := logs.Read(files, in.o, each)
	if err != nil {
		w.Done()
	}
	return sum, w, err
}

// A progress tells how far the work is, now and then, if somebody wants to know.
type progress struct {
	*console.Progress
	on   bool
	told time.Time
}

func (w *progress) tell(format string, args ...any) {
	if w.on && time.Since(w.told) >= w.Every {
		w.told = time.Now()
		w.Say(format, args...)
	}
}

// finish prints a result and checks what -strict asks for.
func (in *input) finish(sum *logs.Summary, result any, human func(text.Style) string) error {
	var out string
	if in.json {
		doc, err := document(result)
		if err != nil {
			return err
		}
		out = doc
	} else {
		width, err := strconv.Atoi(in.p.columns)
		if err != nil || width > 1000 {
			width = 0
		}
		out = human(text.Style{Width: width, ASCII: in.ascii})
	}
	if err := in.p.write(out); err != nil {
		return err
	}
	if in.strict && sum.Broken > 0 {
		return fmt.Errorf("%d of %d lines are broken, the first: %v", sum.Broken, sum.Lines, sum.Faults[0])
	}
	return nil
}

func document(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.String(), err
}
