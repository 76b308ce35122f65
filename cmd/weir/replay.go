package main

import (
	"errors"
	"flag"
	"slices"

	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/cmd/weir/internal/report"
	"github.com/weir-go/weir/cmd/weir/internal/text"
)

// specs is the flag -limit.
type specs []replay.Spec

func (s *specs) String() string { return "" }

func (s *specs) Set(text string) error {
	spec, err := replay.ParseSpec(text)
	*s = append(*s, spec)
	return err
}

func newReplay(p *program) (*flag.FlagSet, func(args []string) error) {
	f := flag.NewFlagSet("replay", flag.ContinueOnError)
	in, html := newInput(p, f), newPage(p, f)
	var limits specs
	var o replay.Options
	f.Var(&limits, "limit", "a `LIMIT` to try, with what it applies to; repeatable")
	f.BoolVar(&o.Joint, "joint", false, "the limits decide together: all or none")
	f.IntVar(&o.Top, "top", 10, "how many of the most refused keys are told, a `NUMBER`")
	return f, func(files []string) error {
		key, cost, err := in.options(files)
		switch {
		case err != nil:
			return err
		case len(limits) == 0:
			return usage(`no -limit: want one such as -limit "100/s burst 20"`)
		case o.Top < 1:
			return usage("-top %d: want 1 or more", o.Top)
		}
		for i := range limits {
			l := &limits[i]
			if l.Key.Default() {
				l.Key = key
			}
			if l.Cost.Default() {
				l.Cost = cost
			}
			if l.Name != "" && slices.ContainsFunc(limits[:i], func(s replay.Spec) bool { return s.Name == l.Name }) {
				return usage("two limits are named %q", l.Name)
			}
		}
		o.MaxKeys, o.Text = in.maxKeys, in.show
		if err := html.check(files); err != nil {
			return err
		}
		engine, err := replay.New(limits, o)
		if err != nil {
			return err
		}
		sum, told, err := in.read(files, engine.Keys(), engine.Costs(), engine.Add)
		if err != nil {
			return err
		}
		told.Done()
		result := engine.Result(sum)
		err = html.write(func(o report.Options) ([]byte, error) { return report.Replay(result, o) }, report.Options{Hide: in.anonymize})
		return errors.Join(in.finish(sum, result, func(s text.Style) string { return text.Replay(result, s) }), err)
	}
}
