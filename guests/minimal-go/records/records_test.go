package records

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	types "minimal-go/bindings/drivebay_backend_types"
	state "minimal-go/bindings/drivebay_host_state"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// memory keeps what the contract promises of the state: a commit is all or nothing.
type memory struct {
	values    map[string][]byte
	conflicts int
}

func begin(t *testing.T) *memory {
	t.Helper()
	fresh := &memory{values: map[string][]byte{}}
	store = fresh
	return fresh
}

func (m *memory) Get(key string) wit.Result[wit.Option[[]byte], state.Error] {
	value, found := m.values[key]
	if !found {
		return wit.Ok[wit.Option[[]byte], state.Error](wit.None[[]byte]())
	}
	return wit.Ok[wit.Option[[]byte], state.Error](wit.Some(value))
}

func (m *memory) Commit(changes []state.Change) wit.Result[wit.Unit, state.Error] {
	if m.conflicts > 0 {
		m.conflicts--
		return conflict("another call")
	}
	values := maps.Clone(m.values)
	for _, change := range changes {
		switch change.Tag() {
		case state.ChangePut:
			values[change.Put().Key] = change.Put().Value
		case state.ChangeDelete:
			delete(values, change.Delete())
		case state.ChangeExpect:
			value, found := values[change.Expect().Key]
			expected := change.Expect().Value
			if found != expected.IsSome() || found && !bytes.Equal(value, expected.Some()) {
				return conflict(change.Expect().Key)
			}
		}
	}
	m.values = values
	return wit.Ok[wit.Unit, state.Error](wit.Unit{})
}

func conflict(key string) wit.Result[wit.Unit, state.Error] {
	return wit.Err[wit.Unit, state.Error](state.MakeErrorConflict(key))
}

func create(t *testing.T, name string) Record {
	t.Helper()
	record, failed := FindOrCreate(name, nil, types.Volume{CapacityBytes: 1 << 30})
	if failed != nil {
		t.Fatal(failed.Message)
	}
	return record
}

func TestARepeatedCallFindsTheVolumeOfTheFirst(t *testing.T) {
	begin(t)
	first := create(t, "a")
	if again := create(t, "a"); again != first {
		t.Errorf("%v is not %v", again, first)
	}
	if other := create(t, "b"); other.VolumeID == first.VolumeID {
		t.Errorf("two volumes are %s", first.VolumeID)
	}
}

func TestNothingIsLeftOfADeletedVolumeAndItsIDNeverReturns(t *testing.T) {
	host := begin(t)
	first := create(t, "a")
	for range 2 {
		if failed := Delete(first.VolumeID); failed != nil {
			t.Fatal(failed.Message)
		}
	}
	if len(host.values) != 0 {
		t.Errorf("left: %v", host.values)
	}
	if record, failed := Find(first.VolumeID); record != nil || failed != nil {
		t.Error("it exists, or nobody knows", failed)
	}
	if create(t, "a").VolumeID == first.VolumeID {
		t.Error("the id returned")
	}
}

func TestACallThatLosesARaceDecidesAnew(t *testing.T) {
	host := begin(t)
	host.conflicts = attempts - 1
	create(t, "a")
	host.conflicts = 1000
	_, failed := FindOrCreate("b", nil, types.Volume{CapacityBytes: 1 << 30})
	if failed == nil || failed.Code != types.ErrorCodeAborted {
		t.Error("it went on against all others", failed)
	}
	if len(host.values) != 2 {
		t.Errorf("a refused call left something: %v", host.values)
	}
}

func TestNothingIsCommittedThatNoClientCanBeTold(t *testing.T) {
	host := begin(t)
	context := types.StringMap{{F0: "parameter.k", F1: strings.Repeat("v", 5_000)}}
	_, failed := FindOrCreate("a", nil, types.Volume{CapacityBytes: 1 << 30, VolumeContext: context})
	if failed == nil || failed.Code != types.ErrorCodeInternal {
		t.Error("it was made", failed)
	}
	if len(host.values) != 0 {
		t.Errorf("left: %v", host.values)
	}
}

func TestTheOrderOfParametersMeansNothing(t *testing.T) {
	one := types.StringMap{{F0: "a", F1: "1"}, {F0: "b", F1: "2"}}
	other := types.StringMap{{F0: "b", F1: "2"}, {F0: "a", F1: "1"}}
	if Fingerprint(one) != Fingerprint(other) || Fingerprint(one) == Fingerprint(one[:1]) {
		t.Error(Fingerprint(one), Fingerprint(other))
	}
}
