// Package codemode lets a model write one program instead of many calls: the tool run_code runs it, and each call that it
// makes of another tool goes through the same pipeline, claims and lane as a direct one.
package codemode
