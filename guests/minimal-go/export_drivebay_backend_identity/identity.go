// Package export_drivebay_backend_identity says who the backend is.
//
// The generated code finds it by this name. It depends on nothing, because the host keeps the
// answers.
package export_drivebay_backend_identity

import (
	identity "minimal-go/bindings/drivebay_backend_identity"
	"minimal-go/collector"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// Describe answers once for every version of the component.
func Describe() wit.Result[identity.Description, identity.Error] {
	collector.Step()
	return wit.Ok[identity.Description, identity.Error](identity.Description{
		Name:          "minimal-go.drivebay.dev",
		VendorVersion: "0.1.0",
		Manifest:      identity.StringMap{{F0: "language", F1: "go"}},
		StateVersion:  identity.StateVersion{Writes: 1, ReadsFrom: 1},
	})
}

// Probe is always well: the state is all that this backend needs, and the host watches that.
func Probe() wit.Result[identity.Readiness, identity.Error] {
	collector.Step()
	return wit.Ok[identity.Readiness, identity.Error](identity.ReadinessReady)
}
