package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeContrib uses a module of contrib from a program beside a checkout, in
// each of the ways that README tells, by the command that it names for that.
func TestReadmeContrib(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, readme))
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(go [^`]*contrib/metrics)`").FindAllSubmatch(text, -1)
	ways := checkouts(t)
	if len(named) != len(ways) {
		t.Fatalf("%d commands for contrib, and %d ways to use a checkout", len(named), len(ways))
	}
	for i, way := range ways {
		dir := t.TempDir()
		goTool(t, dir, "mod", "init", "example")
		write(t, filepath.Join(dir, "main.go"), `package main

import "github.com/weir-go/weir/contrib/metrics"

func main() { new(metrics.Policies).Remove("nobody") }
`)
		commands := strings.SplitAfter(strings.TrimSpace(way.text), "\n")
		last := commands[len(commands)-1]
		added := string(named[i][1])
		if strings.Contains(last, "tidy") {
			commands[len(commands)-1] = added
			commands = append(commands, last)
		} else {
			commands = append(commands, added)
		}
		for _, command := range commands {
			goTool(t, dir, words(t, strings.ReplaceAll(command, "../weir", checkout))...)
		}
		goTool(t, dir, "run", ".")
	}
}
