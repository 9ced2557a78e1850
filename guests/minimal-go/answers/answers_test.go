package answers

import (
	"math"
	"strings"
	"testing"

	types "minimal-go/bindings/drivebay_backend_types"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

func volume(id string, bytes uint64, context ...wit.Tuple2[string, string]) types.Volume {
	return types.Volume{VolumeId: id, CapacityBytes: bytes, VolumeContext: context}
}

func TestAnAnswerThatTheHostWouldRefuseIsFound(t *testing.T) {
	pair := func(key, value string) wit.Tuple2[string, string] {
		return wit.Tuple2[string, string]{F0: key, F1: value}
	}
	long := strings.Repeat("v", 4<<10)
	for words, bad := range map[string]types.Volume{
		"volume-id has 0 bytes":        volume("", 1),
		"volume-id has 129 bytes":      volume(strings.Repeat("i", 129), 1),
		"control character":            volume("a\nb", 1),
		"capacity-bytes is 9223372036": volume("v", math.MaxInt64+1),
		"has 4097 bytes":               volume("v", 1, pair("k", long)),
		"the key \"k\" twice":          volume("v", 1, pair("k", "1"), pair("j", "1"), pair("k", "2")),
		"value at \"\"":                volume("v", 1, pair("", "1")),
		"value at \"k\"":               volume("v", 1, pair("k", "\x00")),
	} {
		failed := Check(bad)
		if failed == nil || failed.Code != types.ErrorCodeInternal || !strings.Contains(failed.Message, words) {
			t.Errorf("%s: %+v", words, failed)
		}
	}
	good := volume(strings.Repeat("i", 128), math.MaxInt64, pair("k", long[1:]))
	if failed := Check(good); failed != nil {
		t.Error(failed.Message)
	}
}
