package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const coming = "docs/coming-from.md"

// TestComingFromVersions holds the page to the versions that its claims are
// tested against.
func TestComingFromVersions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, coming))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range readMod(t, filepath.Join(root, "docs/examples/adapters")).Require {
		versions[r.Path] = r.Version
	}
	titles := regexp.MustCompile(`(?m)^## (\S+) (\S+)$`).FindAllStringSubmatch(string(text), -1)
	if len(titles) != 5 {
		t.Errorf("the page has %d libraries, want 5", len(titles))
	}
	for _, m := range titles {
		path := m[1]
		if strings.HasPrefix(path, "golang.org/x/time") {
			path = "golang.org/x/time"
		}
		if versions[path] != m[2] {
			t.Errorf("the page is about %s %s, the tests about %q", m[1], m[2], versions[path])
		}
	}
}
