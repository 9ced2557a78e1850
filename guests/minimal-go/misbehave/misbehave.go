// Package misbehave has two parameters that misbehave on purpose, for the project's tests: `fail` (the word
// of an error code to answer) and `trap` (`1`: panic). Projects that begin with this backend are made
// without it.
package misbehave

import (
	types "minimal-go/bindings/drivebay_backend_types"
	"minimal-go/records"
)

// WhereAsked does what the parameters for tests ask for.
func WhereAsked(parameters types.StringMap) *types.Error {
	for _, pair := range parameters {
		switch {
		case pair.F0 == "trap" && pair.F1 == "1":
			panic("the parameter trap asks for it")
		case pair.F0 == "fail":
			code, known := errorCodes[pair.F1]
			if !known {
				code = types.ErrorCodeInvalidArgument
			}
			return records.Fail(code, "the parameter fail asks for it: "+pair.F1)
		}
	}
	return nil
}

var errorCodes = map[string]types.ErrorCode{
	"invalid-argument":    types.ErrorCodeInvalidArgument,
	"not-found":           types.ErrorCodeNotFound,
	"already-exists":      types.ErrorCodeAlreadyExists,
	"failed-precondition": types.ErrorCodeFailedPrecondition,
	"resource-exhausted":  types.ErrorCodeResourceExhausted,
	"out-of-range":        types.ErrorCodeOutOfRange,
	"aborted":             types.ErrorCodeAborted,
	"unauthenticated":     types.ErrorCodeUnauthenticated,
	"permission-denied":   types.ErrorCodePermissionDenied,
	"unavailable":         types.ErrorCodeUnavailable,
	"unimplemented":       types.ErrorCodeUnimplemented,
	"internal":            types.ErrorCodeInternal,
}
