package main

import (
	"errors"
	"flag"
	"io/fs"
	"os"

	"github.com/weir-go/weir/cmd/weir/internal/report"
)

// A page is the flag -html.
type page struct {
	file   string
	stdout any
}

func newPage(c *program, f *flag.FlagSet) *page {
	p := &page{stdout: c.stdout}
	f.StringVar(&p.file, "html", "", "also write a self-contained page to `FILE`, which is replaced; with -anonymize it numbers the input files")
	return p
}

// check finds out before the reading whether the page can be written.
func (p *page) check(inputs []string) error {
	switch p.file {
	case "":
		return nil
	case "-":
		return usage("-html -: want a file, for standard output has the text")
	}
	if old, err := os.Stat(p.file); err == nil {
		if out, ok := p.stdout.(*os.File); ok {
			if to, err := out.Stat(); err == nil && os.SameFile(old, to) {
				return usage("-html %s: want another file, for that is standard output, which has the text", p.file)
			}
		}
		for _, name := range inputs {
			if in, err := os.Stat(name); err == nil && os.SameFile(old, in) {
				return usage("-html %s: that is an input, and would be replaced", p.file)
			}
		}
	}
	err := report.Check(p.file)
	if errors.Is(err, report.ErrNoFile) || errors.Is(err, fs.ErrNotExist) {
		return usage("-html: %w", err)
	}
	return err
}

// write writes the page, if one is asked for. That is done before the text is printed: who reads the text may go away in the
// middle of it, as head does, and the process with it.
func (p *page) write(make func(report.Options) ([]byte, error), o report.Options) error {
	if p.file == "" {
		return nil
	}
	data, err := make(o)
	if err != nil {
		return err
	}
	return report.Save(p.file, data)
}
