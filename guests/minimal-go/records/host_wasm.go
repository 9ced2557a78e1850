package records

import (
	state "minimal-go/bindings/drivebay_host_state"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// host is the state of the host that runs the component.
type host struct{}

func init() {
	store = host{}
}

func (host) Get(key string) wit.Result[wit.Option[[]byte], state.Error] {
	return state.Get(key)
}

func (host) Commit(changes []state.Change) wit.Result[wit.Unit, state.Error] {
	return state.Commit(changes)
}
