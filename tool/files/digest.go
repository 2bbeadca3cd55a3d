package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
)

// Digest returns a hash of the tree at dir: the paths in it, their kinds and permission bits, the targets of links and
// the contents of files. Two trees have one digest exactly if they are equal in all of that, wherever they are. Times
// and owners do not count. Links are not followed.
func Digest(ctx context.Context, dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	defer root.Close()
	sum := sha256.New()
	if err := digest(ctx, sum, root, "."); err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func digest(ctx context.Context, sum hash.Hash, root *os.Root, rel string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	content := ""
	switch {
	case info.Mode().IsRegular():
		content, err = contentOf(ctx, root, rel)
	case info.Mode()&fs.ModeSymlink != 0:
		content, err = root.Readlink(rel)
	}
	if err != nil {
		return err
	}
	// Lengths come first, so that no name can pass for another field.
	fmt.Fprintf(sum, "%d %s %v %d %s\n", len(rel), rel, info.Mode(), len(content), content)
	if !info.IsDir() {
		return nil
	}
	entries, err := readDir(root, rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := digest(ctx, sum, root, path.Join(rel, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func contentOf(ctx context.Context, root *os.Root, rel string) (string, error) {
	file, err := root.Open(rel)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, &reader{ctx, file})
	return string(h.Sum(nil)), err
}
