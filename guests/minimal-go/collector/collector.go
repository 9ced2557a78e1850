// Package collector runs the garbage collector when it is safe to.
//
// It owns the decision when memory is cleaned and nothing else. The runtime must not decide by
// itself: when it collects while the host is handing over arguments, it asks for the time, which is
// forbidden at that moment, and the instance dies. Inside of an exported function it may.
package collector

import (
	"runtime"
	"runtime/debug"
)

// callsBetween keeps the memory of a reused instance flat at little cost; an instance that serves
// a single call never gets there.
const callsBetween = 256

var calls uint32

func init() {
	debug.SetGCPercent(-1)
}

// Step is to be called at the beginning of every exported function.
func Step() {
	calls++
	if calls%callsBetween == 0 {
		runtime.GC()
	}
}
