package main

import (
	"flag"
	"fmt"
	"strings"
)

func mainHelp() string {
	var b strings.Builder
	b.WriteString("weir tries rate limits on recorded traffic.\n\n  weir COMMAND [flags] [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-12s %s\n", c.name, c.about)
	}
	b.WriteString(`
Examples:

  weir replay -limit "5/s burst 10" access.log
  weir advise access.log
  weir parse "100/s burst 20"

weir COMMAND -help tells more.
` + exitHelp)
	return b.String()
}

const exitHelp = `
Results go to stdout, progress and complaints to stderr. The exit code is 0 if all went well, 1 if the input cannot be read
or the page not be written (or, with -strict, if lines are broken), 2 if the command line is wrong.
`

const replayHelp = `weir replay decides recorded traffic in its own time and tells what limits would have refused.

  weir replay -limit [NAME=][KEY] [cost FIELD]:LIMIT [-limit ...] [flags] FILE...

A LIMIT is a rate and a burst, perhaps step and start: see weir parse. What stands before its colon says what it applies to,
where that is not -key and -cost: "client: 10/s burst 20", "all: 500/s", "client cost bytes: 1000000/s burst 5000000".
Several limits stand side by side, each with its own decisions, or with -joint decide together: all or none. With -html the
result is also a page to look at, mail or print: one file, without script or network.

Examples:

  weir replay -limit "5/s burst 10" access.log
  weir replay -limit "5/s burst 10" -limit "all: 20/s burst 40" -joint access.log.1.gz access.log
  weir replay -limit "tokens=100000/m burst 20000" -key tenant -cost tokens requests.csv
  weir replay -limit "1/s burst 5" -key header:X-Api-Key,path -json caddy.json
  weir replay -limit "2/s" -field time=when -field client=peer -anonymize - < other.json
` + inputHelp

const adviseHelp = `weir advise finds limits that fit recorded traffic.

  weir advise [flags] FILE...

For each rate it tells the smallest burst that refuses nothing, to all keys and to most of them, and with -refuse or
-refuse-keys the one that refuses at most that. It recommends two or three limits with what each would have done, and tells
how long requests would wait if they did (outbound). With -html the result is also a page to look at, mail or print: one file,
without script or network; with -anonymize it names no key and no file.

Examples:

  weir advise access.log
  weir advise -refuse 0.1% -html report.html access.log
  weir advise -refuse-keys 1% -rate 30/m,1/s,2/s access.log
  weir advise -key tenant -cost tokens -json requests.csv
  weir advise -key all -ascii envoy.json
` + inputHelp

const inputHelp = `
A FILE is a log in Common or Combined format (nginx, Apache), JSON lines (nginx, Caddy, Envoy, any other with -field), CSV or
TSV with a header; "-" is standard input, and gzip is recognised. Several are read in the order given, as one.

A KEY is client (the address; of IPv6 its /64), method, path, header:NAME, field:NAME or a field's name, several of these with
commas between, or all (or none) for one key in all. If nothing is said it is a column "key" if there is one, else client. A
COST is 1 or a field that holds a whole number, such as bytes; "-" and nothing are 0. If nothing is said it is a column "cost"
if there is one, else 1.
` + exitHelp

const parseHelp = `weir parse explains a limit.

  weir parse [-json] LIMIT

A LIMIT is a rate, N/PERIOD, and then in any order burst N (1 if absent), start N (full) and step PERIOD (continuous); or
"unlimited" or "none". A PERIOD is a unit (ns, us, ms, s, m, h, d), a number of days such as 7d, or a duration such as 1m30s.

Examples:

  weir parse "100/s burst 20"
  weir parse "6/3s burst 10 step 3s start 0"
  weir parse -json 5000/h
` + exitHelp

const versionHelp = `weir version prints the version of the program, of its source and of Go.

Examples:

  weir version
  weir version -json
` + exitHelp

const completionHelp = `weir completion prints a script that completes commands and flags.

  weir completion bash|zsh|fish

Examples:

  weir completion bash
  weir completion zsh
  weir completion fish

In bash: source <(weir completion bash). In zsh, after compinit: the same with zsh. In fish: weir completion fish | source.
` + exitHelp

// flagHelp lists the flags.
func flagHelp(f *flag.FlagSet) string {
	var b strings.Builder
	f.VisitAll(func(f *flag.Flag) {
		value, about := flag.UnquoteUsage(f)
		head := "-" + f.Name
		if value != "" {
			head += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
			about += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, "  %-22s %s\n", head, about)
	})
	if b.Len() == 0 {
		return ""
	}
	return "\nFlags:\n\n" + b.String()
}
