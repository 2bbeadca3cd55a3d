package keys_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool/keys"
)

// A new file has one key under every name that leads to it, before it exists and after.
func ExampleRoot_Key() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	os.Mkdir(filepath.Join(dir, "target"), 0o755)
	os.Symlink("target", filepath.Join(dir, "alias"))

	root, err := keys.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := root.Key("target/new.txt")
	b, _ := root.Key("alias/../alias/new.txt")
	fmt.Println(a == b, strings.HasPrefix(a, "file/"))
	_, err = root.Key("../elsewhere")
	fmt.Println(err)
	// Output:
	// true true
	// path "../elsewhere": path leads out of the root
}

// The claims of a call on a path: its tree, and the links that lead there.
func ExamplePath_Claims() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	os.Symlink("target", filepath.Join(dir, "alias"))
	root, err := keys.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	path, _ := root.Follow("alias/new.txt")
	top, _ := root.Key(".")
	for _, c := range path.Claims(plan.Write) {
		fmt.Println(strings.Replace(c.String(), top, "file/ROOT", 1))
	}
	// Output:
	// write file/ROOT/target/new.txt/...
	// read file/ROOT/alias
	// write file/ROOT/alias/new.txt/...
}

func ExampleURL() {
	a, _ := keys.URL("https://Example.com:443/a/./b?page=2")
	b, _ := keys.URL("HTTPS://example.com/%61/b/")
	fmt.Println(a, a == b)
	// Output: url/https/example.com/a/b true
}

func ExampleName() {
	key, _ := keys.Name("queue", "mail/out")
	fmt.Println(key)
	// Output: queue/mail%2Fout
}
