// Package records keeps the volumes in the host's state: `volume/NAME` holds id, size and
// parameters, `id/ID` the name.
//
// It knows nothing of requests. Every change is one commit with what was read before as its
// expectation: of two calls for one name that run at the same time one makes the volume, and the
// other reads again and finds it. Ids are drawn: calls for different names that counted them would
// all wait for one key. Nothing is committed of which no client could be told.
package records

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minimal-go/answers"
	types "minimal-go/bindings/drivebay_backend_types"
	state "minimal-go/bindings/drivebay_host_state"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// attempts is how often a call tries before it lets its client come back. Only calls for one object
// meet here, and the host lets those of one name in one after the other.
const attempts = 4

// Store is the host's state: host_wasm.go has it for components, the tests have one in memory.
type Store interface {
	Get(key string) wit.Result[wit.Option[[]byte], state.Error]
	Commit(changes []state.Change) wit.Result[wit.Unit, state.Error]
}

var store Store

// Record is what the state holds of a volume.
type Record struct {
	VolumeID      string
	CapacityBytes uint64
	// Parameters is what Fingerprint makes of them.
	Parameters string
}

// Fail makes an error without a reason.
func Fail(code types.ErrorCode, message string) *types.Error {
	return &types.Error{Code: code, Reason: wit.None[string](), Message: message}
}

// Fingerprint is one text for each set of parameters, whatever their order.
func Fingerprint(parameters types.StringMap) string {
	pairs := make([]string, 0, len(parameters))
	for _, pair := range parameters {
		pairs = append(pairs, strconv.Quote(pair.F0)+"="+strconv.Quote(pair.F1))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// FindOrCreate returns the volume of this name, new if there is none: as told but for the id, which is drawn.
func FindOrCreate(name string, parameters types.StringMap, told types.Volume) (Record, *types.Error) {
	key := "volume/" + name
	for range attempts {
		found, failed := read(key)
		if failed != nil {
			return Record{}, failed
		}
		if found.IsSome() {
			return parse(key, found.Some())
		}
		told.VolumeId = drawID()
		if failed := answers.Check(told); failed != nil {
			return Record{}, failed
		}
		record := Record{
			VolumeID:      told.VolumeId,
			CapacityBytes: told.CapacityBytes,
			Parameters:    Fingerprint(parameters),
		}
		committed := store.Commit([]state.Change{
			expect(key, wit.None[string]()),
			put(key, fmt.Sprintf("%s %d %s", record.VolumeID, record.CapacityBytes, record.Parameters)),
			put("id/"+record.VolumeID, name),
		})
		if committed.IsOk() {
			return record, nil
		}
		if committed.Err().Tag() != state.ErrorConflict {
			return Record{}, refused(committed.Err())
		}
	}
	return Record{}, crowded()
}

// drawID draws 128 random bits, so that no id is ever given twice, to a volume deleted long ago neither.
func drawID() string {
	var bytes [16]byte
	// It never fails: the runtime ends the program instead.
	_, _ = rand.Read(bytes[:])
	return "vol-" + hex.EncodeToString(bytes[:])
}

// Delete forgets a volume; success when there is none.
func Delete(volumeID string) *types.Error {
	key := "id/" + volumeID
	for range attempts {
		name, failed := read(key)
		if failed != nil || name.IsNone() {
			return failed
		}
		committed := store.Commit([]state.Change{
			expect(key, name),
			state.MakeChangeDelete(key),
			state.MakeChangeDelete("volume/" + name.Some()),
		})
		if committed.IsOk() {
			return nil
		}
		if committed.Err().Tag() != state.ErrorConflict {
			return refused(committed.Err())
		}
	}
	return crowded()
}

// Find returns the volume of this id; nil: there is no such volume.
func Find(volumeID string) (*Record, *types.Error) {
	name, failed := read("id/" + volumeID)
	if failed != nil || name.IsNone() {
		return nil, failed
	}
	key := "volume/" + name.Some()
	found, failed := read(key)
	if failed != nil || found.IsNone() {
		return nil, failed
	}
	record, failed := parse(key, found.Some())
	if failed != nil {
		return nil, failed
	}
	return &record, nil
}

func read(key string) (wit.Option[string], *types.Error) {
	value := store.Get(key)
	if value.IsErr() {
		return wit.None[string](), refused(value.Err())
	}
	if value.Ok().IsNone() {
		return wit.None[string](), nil
	}
	return wit.Some(string(value.Ok().Some())), nil
}

func parse(key, text string) (Record, *types.Error) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 {
		return Record{}, damaged(key)
	}
	bytes, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return Record{}, damaged(key)
	}
	return Record{VolumeID: parts[0], CapacityBytes: bytes, Parameters: parts[2]}, nil
}

func put(key, value string) state.Change {
	return state.MakeChangePut(state.Entry{Key: key, Value: []byte(value)})
}

func expect(key string, value wit.Option[string]) state.Change {
	held := wit.None[[]byte]()
	if value.IsSome() {
		held = wit.Some([]byte(value.Some()))
	}
	return state.MakeChangeExpect(state.Expectation{Key: key, Value: held})
}

func damaged(key string) *types.Error {
	return Fail(types.ErrorCodeFailedPrecondition, "the record "+key+" is damaged")
}

func refused(failed state.Error) *types.Error {
	switch failed.Tag() {
	case state.ErrorQuotaExceeded:
		return Fail(types.ErrorCodeResourceExhausted, "the state's quota is used up")
	case state.ErrorReadOnly:
		return Fail(types.ErrorCodeFailedPrecondition, "the state is read-only here")
	case state.ErrorInvalid:
		return Fail(types.ErrorCodeUnavailable, "the state refused it: "+failed.Invalid())
	case state.ErrorUnavailable:
		return Fail(types.ErrorCodeUnavailable, "the state failed: "+failed.Unavailable())
	default:
		return crowded()
	}
}

func crowded() *types.Error {
	failed := Fail(types.ErrorCodeAborted, "other calls changed the state again and again")
	failed.Reason = wit.Some("busy")
	return failed
}
