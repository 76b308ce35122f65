package main

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/text"
	"github.com/weir-go/weir/gcra"
)

func newParse(p *program) (*flag.FlagSet, func(args []string) error) {
	f := flag.NewFlagSet("parse", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "print one JSON document instead of text")
	return f, func(args []string) error {
		if len(args) == 0 {
			return usage(`no limit: want one such as "100/s burst 20"`)
		}
		l, err := gcra.Parse(strings.Join(args, " ")) // also without quotes around it
		if err != nil {
			return usage("%s", strings.TrimPrefix(err.Error(), "gcra: "))
		}
		e, err := text.Explain(l)
		if err != nil {
			return err
		}
		out := e.String()
		if *asJSON {
			if out, err = document(e); err != nil {
				return err
			}
		}
		return p.write(out)
	}
}

// A version is what the program was made of. Fields that are not known are empty.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"` // of the revision
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(p *program) (*flag.FlagSet, func(args []string) error) {
	f := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "print one JSON document instead of text")
	return f, func(args []string) error {
		if len(args) > 0 {
			return usage("unexpected argument %q", args[0])
		}
		info, _ := debug.ReadBuildInfo()
		v := versionOf(info)
		if *asJSON {
			out, err := document(v)
			if err != nil {
				return err
			}
			return p.write(out)
		}
		return p.write(v.String())
	}
}

func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) String() string {
	text := "weir " + v.Version
	if v.Revision != "" {
		text += fmt.Sprintf(", revision %s of %s", v.Revision, v.Time)
	}
	if v.Modified {
		text += ", modified"
	}
	return text + ", " + v.Go + ", " + v.Platform + "\n"
}
