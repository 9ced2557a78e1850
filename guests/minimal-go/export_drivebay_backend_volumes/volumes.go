// Package export_drivebay_backend_volumes is the smallest controller: volumes are records in the
// host's state and nowhere else.
//
// The generated code finds it by this name. It decides what a request means; how it is remembered
// is in package records.
package export_drivebay_backend_volumes

import (
	"strings"

	types "minimal-go/bindings/drivebay_backend_types"
	volumes "minimal-go/bindings/drivebay_backend_volumes"
	logging "minimal-go/bindings/wasi_logging_logging"
	"minimal-go/collector"
	"minimal-go/misbehave"
	"minimal-go/records"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// defaultBytes is the size of a volume when the client does not say: 1 GiB.
const defaultBytes = 1 << 30

// parameter is what the keys of a volume's context begin with that hold its parameters.
const parameter = "parameter."

// language is in every volume's context.
var language = wit.Tuple2[string, string]{F0: "language", F1: "go"}

// CreateVolume makes a volume, or finds the one that an earlier call with the same name made.
func CreateVolume(request volumes.CreateVolumeRequest) wit.Result[volumes.Volume, volumes.Error] {
	collector.Step()
	volume, failed := create(request)
	if failed != nil {
		return wit.Err[volumes.Volume, volumes.Error](*failed)
	}
	logging.Log(logging.LevelInfo, "volumes", request.Name+" is "+volume.VolumeId)
	return wit.Ok[volumes.Volume, volumes.Error](volume)
}

// DeleteVolume forgets a volume; success when there is none.
func DeleteVolume(request volumes.DeleteVolumeRequest) wit.Result[wit.Unit, volumes.Error] {
	collector.Step()
	if failed := records.Delete(request.VolumeId); failed != nil {
		return wit.Err[wit.Unit, volumes.Error](*failed)
	}
	return wit.Ok[wit.Unit, volumes.Error](wit.Unit{})
}

// ValidateVolumeCapabilities supports everything for every volume that exists, but for a context of another.
func ValidateVolumeCapabilities(
	request volumes.ValidateVolumeCapabilitiesRequest,
) wit.Result[volumes.Verdict, volumes.Error] {
	collector.Step()
	record, failed := records.Find(request.VolumeId)
	if failed == nil && record == nil {
		failed = records.Fail(types.ErrorCodeNotFound, "there is no volume "+request.VolumeId)
	}
	if failed != nil {
		return wit.Err[volumes.Verdict, volumes.Error](*failed)
	}
	if len(request.VolumeContext) > 0 && !isContext(request.VolumeContext, record) {
		return wit.Ok[volumes.Verdict, volumes.Error](
			volumes.MakeVerdictUnsupported("the volume has another context"))
	}
	return wit.Ok[volumes.Verdict, volumes.Error](volumes.MakeVerdictSupported())
}

func create(request volumes.CreateVolumeRequest) (types.Volume, *types.Error) {
	if failed := misbehave.WhereAsked(request.Parameters); failed != nil {
		return types.Volume{}, failed
	}
	if request.VolumeContentSource.IsSome() {
		return types.Volume{}, records.Fail(types.ErrorCodeInvalidArgument, "this backend copies nothing")
	}
	asked := request.CapacityRange.SomeOr(types.CapacityRange{
		RequiredBytes: wit.None[uint64](),
		LimitBytes:    wit.None[uint64](),
	})
	context := types.StringMap{language}
	for _, pair := range request.Parameters {
		context = append(context, wit.Tuple2[string, string]{F0: parameter + pair.F0, F1: pair.F1})
	}
	told := types.Volume{
		CapacityBytes: choose(asked),
		VolumeContext: context,
		ContentSource: wit.None[types.VolumeContentSource](),
	}
	record, failed := records.FindOrCreate(request.Name, request.Parameters, told)
	if failed != nil {
		return types.Volume{}, failed
	}
	if record.Parameters != records.Fingerprint(request.Parameters) || !contains(asked, record.CapacityBytes) {
		failed := records.Fail(types.ErrorCodeAlreadyExists,
			"a volume of this name has another size or other parameters")
		failed.Reason = wit.Some("incompatible")
		return types.Volume{}, failed
	}
	told.VolumeId, told.CapacityBytes = record.VolumeID, record.CapacityBytes
	return told, nil
}

// isContext tells whether this is what CreateVolume said of the volume.
func isContext(context types.StringMap, record *records.Record) bool {
	languages, parameters := 0, types.StringMap{}
	for _, pair := range context {
		key, ok := strings.CutPrefix(pair.F0, parameter)
		switch {
		case ok:
			parameters = append(parameters, wit.Tuple2[string, string]{F0: key, F1: pair.F1})
		case pair == language:
			languages++
		default:
			return false
		}
	}
	return languages == 1 && records.Fingerprint(parameters) == record.Parameters
}

func choose(asked types.CapacityRange) uint64 {
	return asked.RequiredBytes.SomeOr(min(defaultBytes, asked.LimitBytes.SomeOr(defaultBytes)))
}

func contains(asked types.CapacityRange, bytes uint64) bool {
	return asked.RequiredBytes.SomeOr(bytes) <= bytes && bytes <= asked.LimitBytes.SomeOr(bytes)
}
