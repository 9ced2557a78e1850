// Package answers holds what a client is going to be told against the contract.
//
// It knows no request and changes nothing. The host refuses an answer that breaks the contract, but what was
// committed before stays: a volume that no client knows of. So records asks it before every commit.
package answers

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	types "minimal-go/bindings/drivebay_backend_types"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

const (
	// longestID is in bytes.
	longestID = 128
	// largestContext is in bytes, keys and values together.
	largestContext = 4 << 10
)

// Check tells why clients cannot be told of a volume; nil: they can.
func Check(volume types.Volume) *types.Error {
	switch id := volume.VolumeId; {
	case id == "" || len(id) > longestID:
		return broken(fmt.Sprintf("volume-id has %d bytes; from 1 to %d are allowed", len(id), longestID))
	case strings.ContainsFunc(id, unicode.IsControl):
		return broken("volume-id has a control character")
	case volume.CapacityBytes > math.MaxInt64:
		return broken(fmt.Sprintf("capacity-bytes is %d; at most %d is allowed", volume.CapacityBytes, math.MaxInt64))
	}
	return checkContext(volume.VolumeContext)
}

func checkContext(context types.StringMap) *types.Error {
	size, seen := 0, map[string]bool{}
	for _, pair := range context {
		key, value := pair.F0, pair.F1
		if key == "" || strings.ContainsFunc(key, unicode.IsControl) || strings.Contains(value, "\x00") {
			return broken(fmt.Sprintf("volume-context has an unusable key or value at %q", key))
		}
		if seen[key] {
			return broken(fmt.Sprintf("volume-context has the key %q twice", key))
		}
		seen[key] = true
		size += len(key) + len(value)
	}
	if size > largestContext {
		return broken(fmt.Sprintf("volume-context has %d bytes; at most %d are allowed", size, largestContext))
	}
	return nil
}

func broken(problem string) *types.Error {
	return &types.Error{
		Code:    types.ErrorCodeInternal,
		Reason:  wit.None[string](),
		Message: "the backend would answer against the contract: " + problem,
	}
}
