package main

import (
	"errors"
	"flag"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/report"
	"github.com/weir-go/weir/cmd/weir/internal/text"
)

func newAdvise(p *program) (*flag.FlagSet, func(args []string) error) {
	f := flag.NewFlagSet("advise", flag.ContinueOnError)
	in, html := newInput(p, f), newPage(p, f)
	var rates, refuse, forKeys string
	var memory int64
	f.StringVar(&rates, "rate", "", "the `RATES` to try, such as 30/m,1/s (default a ladder from the busiest key's mean to its peak)")
	f.StringVar(&refuse, "refuse", "0.1%", "the `SHARE` of the requests that may be refused, such as 0.1%; 0 for none")
	f.StringVar(&forKeys, "refuse-keys", "", "the `SHARE` of the keys that may be refused something")
	f.Int64Var(&memory, "memory", 256, "`MEGABYTES` for requests, and again for what each rate needs; more requests go to a temporary file")
	return f, func(files []string) (err error) {
		o := advise.Options{MaxKeys: in.maxKeys, Text: in.show}
		if o.Key, o.Cost, err = in.options(files); err != nil {
			return err
		}
		if rates != "" {
			if o.Rates, err = advise.ParseRates(rates); err != nil {
				return usage("-rate: %w", err)
			}
		}
		given := false
		f.Visit(func(f *flag.Flag) { given = given || f.Name == "refuse" })
		switch {
		case given && forKeys != "":
			return usage("-refuse and -refuse-keys: one of them at a time")
		case forKeys == "":
			if o.Refuse, err = advise.ParseShare(refuse); err != nil {
				return usage("-refuse: %w", err)
			}
		}
		if forKeys != "" {
			if o.ForKeys, err = advise.ParseShare(forKeys); err != nil {
				return usage("-refuse-keys: %w", err)
			}
		}
		if memory < 1 || memory > 1<<20 {
			return usage("-memory %d: want 1 to %d megabytes", memory, 1<<20)
		}
		o.Memory = memory << 20
		if err := html.check(files); err != nil {
			return err
		}
		var told *progress
		o.Progress = func(stage string) {
			if told != nil && told.on {
				told.told = time.Now()
				told.Say("%s", stage)
			}
		}
		a := advise.New(o)
		defer func() { err = errors.Join(err, a.Close()) }()
		sum, told, err := in.read(files, a.Keys(), a.Costs(), a.Add)
		if err != nil {
			return err
		}
		result, err := a.Result(sum)
		told.Done()
		if err != nil {
			return err
		}
		err = html.write(func(o report.Options) ([]byte, error) { return report.Advice(result, o) }, report.Options{Hide: in.anonymize})
		return errors.Join(in.finish(sum, result, func(s text.Style) string { return text.Advice(result, s) }), err)
	}
}
