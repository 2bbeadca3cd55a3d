// Package js runs programs in TypeScript.
package js
