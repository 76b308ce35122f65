package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
)

func newCompletion(p *program) (*flag.FlagSet, func(args []string) error) {
	f := flag.NewFlagSet("completion", flag.ContinueOnError)
	return f, func(args []string) error {
		if len(args) != 1 {
			return usage("want one of bash, zsh, fish")
		}
		switch args[0] {
		case "bash":
			return p.write(bash(p))
		case "zsh":
			return p.write("autoload -Uz bashcompinit && bashcompinit\n" + bash(p))
		case "fish":
			return p.write(fish(p))
		}
		return usage("shell %q: want one of bash, zsh, fish", args[0])
	}
}

// flagsOf returns the flags of a command, without help.
func flagsOf(p *program, c command) (all []*flag.Flag) {
	f, _ := c.make(p)
	f.VisitAll(func(f *flag.Flag) { all = append(all, f) })
	return all
}

// bash is a script for bash, and for zsh, which understands it.
func bash(p *program) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of weir, for bash and zsh.
_weir() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= flags=
	cur=${cur/#--/-}
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=%q
	else
		case ${COMP_WORDS[1]} in
`, strings.Join(append(names(commands()), "help"), " "))
	for _, c := range commands() {
		var flags []string
		for _, f := range flagsOf(p, c) {
			flags = append(flags, "-"+f.Name)
		}
		fmt.Fprintf(&b, "\t\t%s) flags=%q ;;\n", c.name, strings.Join(append(flags, "-help"), " "))
	}
	fmt.Fprintf(&b, `		help) words=%q ;;
		esac
		if [ "${COMP_WORDS[1]}" = completion ]; then
			words="bash zsh fish"
		fi
		if [ "$prev" = -format ]; then
			words=%q
		elif [ "${cur#-}" != "$cur" ]; then
			words=$flags
		fi
	fi
	if [ -n "$words" ]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	else
		local IFS=$'\n'
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _weir weir
`, strings.Join(names(commands()), " "), strings.Join(logs.Formats(), " "))
	return b.String()
}

func fish(p *program) string {
	var b strings.Builder
	b.WriteString("# Completion of weir, for fish.\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c weir -n __fish_use_subcommand -f -a %s -d '%s'\n", c.name, c.about)
	}
	for _, c := range commands() {
		for _, f := range flagsOf(p, c) {
			value, about := flag.UnquoteUsage(f)
			line := fmt.Sprintf("complete -c weir -n '__fish_seen_subcommand_from %s' -o %s", c.name, f.Name)
			if value != "" && !isBool(f) {
				line += " -r"
			}
			if f.Name == "format" {
				line += " -f -a '" + strings.Join(logs.Formats(), " ") + "'"
			}
			about, _, _ = strings.Cut(about, ":")
			fmt.Fprintf(&b, "%s -d '%s'\n", line, strings.ReplaceAll(about, "'", `\'`))
		}
	}
	b.WriteString("complete -c weir -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n")
	return b.String()
}
