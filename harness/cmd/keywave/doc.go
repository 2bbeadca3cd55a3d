// Command keywave is the command line of the keywave library.
package main

type planCommand struct{}
type runCommand struct{}
type demoCommand struct{}
type versionCommand struct{}
