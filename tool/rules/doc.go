// Package rules declares tools from a file: which may overlap at all, and which of their arguments is a path, a tree, a
// URL or a name that they read or write. It is for calls of tools that cannot be asked, such as those in the
// transcripts of other agents. A tool of this module's own declares itself: see package tool.
//
// [Default] has rules for the tools of well-known coding agents. [Parse] reads more, [Rules.Over] puts them in front,
// and [Rules.Calls] turns the calls of one answer into calls for package plan. Nothing of a tool runs.
//
// # The file
//
// A rules file is a JSON object. Tools are named as the agent that calls them names them; those under "agents" hold for
// one agent alone and win over those under "tools", which hold for all of them. A name may end in *, for all names that
// begin so: the exact name wins, then the longest beginning.
//
//	{
//	  "rules": 1,
//	  "tools": {
//	    "mcp__docs__*": {"safe": true}
//	  },
//	  "agents": {
//	    "claude-code": {
//	      "Read":     {"safe": true, "reads":  [{"path": "file_path"}]},
//	      "Edit":     {"safe": true, "writes": [{"path": "file_path"}]},
//	      "Grep":     {"safe": true, "reads":  [{"tree": "path", "default": "."}]},
//	      "WebFetch": {"safe": true, "reads":  [{"url": "url"}]},
//	      "TaskGet":  {"safe": true, "reads":  [{"name": "task", "of": "taskId"}]},
//	      "Bash":     {"safe": false, "note": "anything can be in a command"},
//	      "Agent":    {"safe": false, "untimed": true}
//	    }
//	  }
//	}
//
// A rule has these members, all of them optional:
//
//   - safe: calls may overlap others. Without it a call is exclusive, and nothing else in the rule counts for the plan.
//   - reads, writes: what a call uses. A safe tool without either touches nothing that others touch.
//   - untimed: how long a call takes says nothing of the tool: it starts another agent, or asks a person.
//   - background: an argument; if it is true, the call goes on behind its result, and its time is not known either.
//   - note: for people.
//
// What a call uses is one of these, with the name of the argument:
//
//   - path: a file. tree: a directory with everything below it, or what may turn out to be one.
//   - patch: a text that names files in lines such as "*** Update File: a.go".
//   - url: something on a network.
//   - name: something else, of the kind given; "of" is the argument that says which one, and without "of" it is all of
//     that kind.
//
// An argument is named by its member in the arguments, by a path of members between dots (edits.file: lists on the way
// are walked through, so that it may be several files), or by "." for the arguments themselves, if they are just a
// text. A list of such names is tried in order: the first that is there counts. With "default" a call without the
// argument uses that instead, and the list may be empty; without it the call is exclusive, as is one whose argument is
// not text, or no path, as what is longer than 4,096 bytes.
//
// So a tool that may read any file, and writes none, is
//
//	{"safe": true, "reads": [{"tree": [], "default": "/"}]}
//
// and one that stays in the working directory has "." there. Where paths are those of Windows "/" is none, and its
// calls are exclusive.
//
// # Paths
//
// Relative paths are joined to the working directory, and everything goes through package tool/keys. Transcripts come
// from other machines, so nothing is looked up on this one: paths are taken as they are written, letter case does not
// count where a path shows that it is one of Windows or macOS, and two names of one file that only a link makes equal
// stay two.
//
// If the working directory is not known, relative paths are compared with each other. A batch that has absolute paths
// as well could name one file in both ways: then its calls with relative paths are exclusive.
package rules
