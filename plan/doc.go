// Package plan decides which tool calls of one turn may run at the same time.
package plan
