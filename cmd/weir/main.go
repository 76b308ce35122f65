// Command weir tries a limit on yesterday's traffic, and lets traffic advise the limit.
//
//	weir replay -limit "100/s burst 20" access.log     what would it have refused?
//	weir advise access.log                             what limit fits?
//	weir parse "100/s burst 20"                        what does it mean?
//
// It decides with package gcra, as the limiters do that will run in production, in the recorded time. Each command tells more
// with -help. `go install ./cmd/weir` in a checkout puts it where Go puts programs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Exit codes.
const (
	fine   = 0
	failed = 1 // the input cannot be read, the output not be written, or there are broken lines under -strict
	misuse = 2 // the command line is wrong: nothing was done
)

func main() {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, columns: os.Getenv("COLUMNS")}
	os.Exit(p.run(os.Args[1:]))
}

// A program is the command with its surroundings.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	columns        string // $COLUMNS
}

// A command is a word after weir.
type command struct {
	name, about string
	help        string
	make        func(p *program) (*flag.FlagSet, func(args []string) error)
}

// commands returns all of them, in the order of the help.
func commands() []command {
	return []command{
		{"replay", "decide recorded traffic against limits", replayHelp, newReplay},
		{"advise", "find limits that fit recorded traffic", adviseHelp, newAdvise},
		{"parse", "explain a limit", parseHelp, newParse},
		{"version", "print the version", versionHelp, newVersion},
		{"completion", "print a shell's completion script", completionHelp, newCompletion},
	}
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (p *program) run(args []string) int {
	name, all := "", commands()
	if len(args) > 0 {
		name = args[0]
	}
	if name == "" || name == "help" || name == "-h" || strings.TrimLeft(name, "-") == "help" && name != "help" {
		if len(args) > 1 && name == "help" {
			return p.run([]string{args[1], "-help"})
		}
		if name == "" {
			fmt.Fprint(p.stderr, mainHelp())
			return misuse
		}
		return p.print(mainHelp())
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return p.complain("weir", usage("unknown command %q: want %s", name, strings.Join(names(all), ", ")))
	}
	c := all[i]
	flags, do := c.make(p)
	rest, err := parseFlags(flags, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return p.print(c.help + flagHelp(flags))
	}
	if err == nil {
		err = do(rest)
	}
	if err != nil {
		return p.complain("weir "+name, err)
	}
	return fine
}

func names(all []command) (words []string) {
	for _, c := range all {
		words = append(words, c.name)
	}
	return words
}

// parseFlags reads flags wherever they stand, up to "--", and returns the other arguments.
func parseFlags(f *flag.FlagSet, args []string) (rest []string, err error) {
	f.SetOutput(io.Discard) // the caller prints the error, once
	f.Usage = func() {}
	for {
		if err := f.Parse(args); err != nil {
			if !errors.Is(err, flag.ErrHelp) {
				err = usageError{err}
			}
			return nil, err
		}
		done := len(args) - f.NArg()
		if done > 0 && args[done-1] == "--" && f.NArg() > 0 && !takesValue(f, args[:done-1]) {
			return append(rest, f.Args()...), nil
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// takesValue reports whether the last of the arguments is a flag that took what follows for its value.
func takesValue(f *flag.FlagSet, args []string) bool {
	if len(args) == 0 || !strings.HasPrefix(args[len(args)-1], "-") {
		return false
	}
	known := f.Lookup(strings.TrimLeft(args[len(args)-1], "-"))
	return known != nil && !isBool(known)
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// print writes the whole of the output at once.
func (p *program) print(text string) int {
	if err := p.write(text); err != nil {
		return p.complain("weir", err)
	}
	return fine
}

func (p *program) write(text string) error {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// complain prints an error in one line, after who has it, and returns its exit code.
func (p *program) complain(who string, err error) int {
	fmt.Fprintln(p.stderr, who+": "+strings.ReplaceAll(err.Error(), "\n", `\n`))
	if errors.As(err, new(usageError)) {
		return misuse
	}
	return failed
}
