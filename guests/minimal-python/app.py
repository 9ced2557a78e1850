"""The smallest controller: volumes are records in the host's state and nowhere else.

It decides what a request means; how it is remembered is in `records`.
"""

import misbehave
import records
from wit_world import exports
from wit_world.exports import identity, volumes
from wit_world.imports import logging, types

# As large as a volume is when the client does not say: 1 GiB.
DEFAULT_BYTES = 1 << 30


class Identity(exports.Identity):
    """Who the backend is."""

    def describe(self) -> identity.Description:
        return identity.Description(
            name="minimal-python.drivebay.dev",
            vendor_version="0.1.0",
            manifest=[("language", "python")],
            features=[],
            state_version=identity.StateVersion(writes=1, reads_from=1),
            wants=[],
        )

    def probe(self) -> identity.Readiness:
        return identity.Readiness.READY


class Volumes(exports.Volumes):
    """Creating and deleting volumes."""

    def create_volume(self, request: volumes.CreateVolumeRequest) -> types.Volume:
        misbehave.where_asked(request.parameters)
        if request.volume_content_source is not None:
            raise records.error(types.ErrorCode.INVALID_ARGUMENT, "this backend copies nothing")
        asked = request.capacity_range or types.CapacityRange(None, None)
        record = records.find_or_create(request.name, request.parameters, choose(asked), volume)
        if not contains(asked, record.capacity_bytes) or record.parameters != sorted(request.parameters):
            raise records.error(
                types.ErrorCode.ALREADY_EXISTS,
                "a volume of this name has another size or other parameters",
                "incompatible",
            )
        logging.log(logging.Level.INFO, "volumes", f"{request.name} is {record.volume_id}")
        return volume(record)

    def delete_volume(self, request: volumes.DeleteVolumeRequest) -> None:
        records.delete(request.volume_id)

    def validate_volume_capabilities(
        self, request: volumes.ValidateVolumeCapabilitiesRequest
    ) -> volumes.Verdict:
        record = records.find(request.volume_id)
        if record is None:
            raise records.error(types.ErrorCode.NOT_FOUND, f"there is no volume {request.volume_id}")
        told = request.volume_context
        if told and sorted(told) != sorted(context(record.parameters)):
            return volumes.Verdict_Unsupported("the volume has another context")
        return volumes.Verdict_Supported()


def volume(record: records.Record) -> types.Volume:
    """What clients are told of a volume."""
    return types.Volume(
        capacity_bytes=record.capacity_bytes,
        volume_id=record.volume_id,
        volume_context=context(record.parameters),
        content_source=None,
        accessible_topology=[],
    )


def context(parameters: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What clients are told of a volume, the same for all its life."""
    return [("language", "python")] + [(f"parameter.{key}", value) for key, value in parameters]


def choose(asked: types.CapacityRange) -> int:
    """The size of a new volume."""
    if asked.required_bytes is not None:
        return asked.required_bytes
    return DEFAULT_BYTES if asked.limit_bytes is None else min(DEFAULT_BYTES, asked.limit_bytes)


def contains(asked: types.CapacityRange, size: int) -> bool:
    """Whether an existing volume has the size that is asked for."""
    least = 0 if asked.required_bytes is None else asked.required_bytes
    return least <= size and (asked.limit_bytes is None or size <= asked.limit_bytes)
