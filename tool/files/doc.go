// Package files has tools that work on the files below one directory: read, write, edit, list, grep, glob, move, remove
// and make_directory. They are what an agent needs to work on a source tree, and the reference for claims that are
// honest.
//
// # The tools and their arguments
//
// Those in brackets may be left out. What each means is in the schemas, which "keywave tools" shows.
//
//	read            path [offset] [limit]
//	write           path content [version]
//	edit            path old new [replace_all] [version]
//	list            [path]
//	grep            pattern [path] [glob] [ignore_case] [ignored]
//	glob            pattern [path] [ignored]
//	move            from to [overwrite]
//	remove          path [recursive]
//	make_directory  path
//
// # Calls in one batch
//
// Every call is safe to overlap others and says exactly what it uses, so a batch of them gives the results, and leaves
// the tree, that running them one by one in the model's order would have given:
//
//   - Each call claims the tree at each of its paths, to read or to write, because a path may turn out to be a
//     directory. A path that goes through a symbolic link claims the link as well. Keys are those of package keys.
//   - move claims both its ends to write.
//   - grep and glob also claim the ignore files above the directory that they search; where its path crosses a link,
//     those above the link's place, too.
//   - Whatever creates a name makes the directories that are missing above it. So two calls that write side by side in
//     a new directory are free: neither can tell whether the other was there first.
//
// Reading and writing follow links; moving and removing act on the link itself. A move that would take a symbolic link
// to another place, alone or in a directory (or in one too large to look through), changes what other paths mean in a
// way that no claim can name: it runs alone. One thing remains. A call that names a path through the moved link,
// planned in the same batch before the move, is classified again only when its own turn comes; a later call may have
// gone ahead of it by then, which the admission reports ([plan.Admission] Reordered).
//
// # What is promised of one call
//
// Nothing outside of the directory is read, written or named in a result: paths and links that lead out are refused,
// also when a link is changed at the last moment, because every access goes through an [os.Root].
//
// A file is replaced whole or not at all: write and edit put the content in a temporary file beside it, under a name
// that no other call has, sync that to disk and rename it into place. The permission bits stay; the owner, the other
// hard links of the file and its extended attributes are those of a new file. A file that nobody may write is refused.
// A process that is killed in the midst of it leaves the temporary file, .keywave-*.tmp, behind. After a power failure
// the name holds the old content or the new, never a part; which of the two is up to the file system.
//
// Results of read, write, edit and move name the file's version, a short hash of its content. Given it, write and edit
// refuse when the file has changed since, whoever changed it; claims only order the calls of one batch, and cannot know
// what a text was composed from. [Absent] as the version demands that there be no such file. The check and the
// replacement are not one step to other processes. A host that has [Versions] remember, for each session, what it has
// seen need not rely on a model to give the version.
//
// Results are bounded: long lines, long files and long lists are cut, and say so. Files that are not text (valid UTF-8
// without a NUL) are refused by read and skipped by grep. Errors are results like any other, and name paths relative to
// the directory.
package files
