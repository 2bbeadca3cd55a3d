// Package runtimetest has the tests that any [codemode.Runtime] must pass. The programs are in JavaScript, as a
// runtime for another language would need others; what they test is of any language.
package runtimetest
