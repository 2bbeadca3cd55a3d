// Package replay says what other ways of scheduling would have made of the tool calls in transcripts.
package replay
