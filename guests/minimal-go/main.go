// Package main is the component: what the generated code exports, and nothing of its own.
package main

import _ "minimal-go/bindings/wit_exports"

// The compiler wants it; nobody calls it.
func main() {}
