// Package keys turns the names that tools are given into canonical keys, and keys into claims.
//
// Claims are compared byte for byte, so two calls stay apart only if both spell one resource alike. This package is
// the one place where that spelling is decided:
//
//   - A [Root] is a directory whose files tools work on. [Root.Key] is the key of a file below it: two spellings of
//     one file have one key, two files never share one, and a file has the same key before and after it is created.
//   - [URL] is the key of something on a network.
//   - [Name] is the key of anything else, by its kind and its name.
//
// # Files
//
// A path is made absolute and cleaned, and symbolic links are resolved in it as far as it exists; the missing rest is
// appended. So alias/new.txt and target/new.txt have one key if alias is a link to target, whether or not new.txt is
// there, and so have a link whose target does not exist yet and that target. The key is "file" followed by the
// absolute real path: two roots, one inside the other, give a file the same key. Paths that lead out of the root,
// through ".." or a link, are refused with [ErrEscape].
//
// Where the file system takes two spellings for one name, so does the key: letter case and Unicode form are folded
// by a policy of the root, which [OpenRoot] finds out by probing unless an option states it. One policy holds for
// the whole root, and for the path that leads to it. A policy that folds may merge a few more names than the file
// system does (full case folding takes ß for ss, as some file systems do and others do not). That costs a wait, never
// an update. Roots agree on the key of a file that both can reach as long as their policies agree.
//
// Three things are beyond what names can tell. Hard links, bind mounts and the like are several names of one file, and
// get several keys. A directory below the root may fold its names by other rules than the root. And keys are as true as
// the links they were resolved through: a call depends on the links that its path crosses, so it should claim them too;
// [Path.Claims] does.
//
// # What it may touch
//
// Key and everything built on it look at names: they examine directory entries and read links, and never open a
// file, so they may be called by a tool's Claims function. Only [OpenRoot] may create a file, to probe with if the
// names that are there cannot tell, and removes it before it returns.
package keys
