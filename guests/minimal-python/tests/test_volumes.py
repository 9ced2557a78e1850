"""What clients rely on."""

import unittest

import answers
from app import DEFAULT_BYTES, Volumes
from componentize_py_types import Err
from wit_world.exports import volumes
from wit_world.imports import types

from tests.host import Host


def create(name: str, size: int | None = None, parameters: list[tuple[str, str]] | None = None) -> types.Volume:
    return Volumes().create_volume(
        volumes.CreateVolumeRequest(
            name=name,
            capacity_range=None if size is None else types.CapacityRange(size, None),
            volume_capabilities=[types.VolumeCapability(types.AccessType_Block(), types.AccessMode.SINGLE_NODE_WRITER)],
            parameters=parameters or [],
            secrets=[],
            volume_content_source=None,
            accessibility_requirements=None,
            mutable_parameters=[],
        )
    )


def delete(volume_id: str) -> None:
    Volumes().delete_volume(volumes.DeleteVolumeRequest(volume_id, []))


def validate(volume_id: str) -> volumes.Verdict:
    request = volumes.ValidateVolumeCapabilitiesRequest(volume_id, [], [], [], [], [])
    return Volumes().validate_volume_capabilities(request)


class VolumesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = self.enterContext(Host())

    def refused(self, code: types.ErrorCode, reason: str | None, call, *arguments) -> None:
        with self.assertRaises(Err) as refused:
            call(*arguments)
        self.assertEqual((refused.exception.value.code, refused.exception.value.reason), (code, reason))

    def test_a_repeated_call_finds_the_volume_of_the_first(self) -> None:
        first = create("a", parameters=[("kind", "fast"), ("tier", "1")])
        self.assertEqual(first.capacity_bytes, DEFAULT_BYTES)
        again = create("a", parameters=[("tier", "1"), ("kind", "fast")])
        self.assertEqual(again.volume_id, first.volume_id)
        self.assertNotEqual(create("b").volume_id, first.volume_id)

    def test_the_same_name_with_other_wishes_is_refused(self) -> None:
        create("a", 1 << 20)
        code = types.ErrorCode.ALREADY_EXISTS
        self.refused(code, "incompatible", create, "a", 1 << 21)
        self.refused(code, "incompatible", create, "a", 1 << 20, [("kind", "fast")])

    def test_nothing_is_left_of_a_deleted_volume_and_its_id_never_returns(self) -> None:
        first = create("a")
        delete(first.volume_id)
        delete(first.volume_id)
        self.assertEqual(self.host.values, {})
        self.refused(types.ErrorCode.NOT_FOUND, None, validate, first.volume_id)
        self.assertNotEqual(create("a").volume_id, first.volume_id)

    def test_a_call_that_loses_a_race_decides_anew(self) -> None:
        self.host.conflicts = 3
        create("a")
        self.host.conflicts = 1000
        self.refused(types.ErrorCode.ABORTED, "busy", create, "b")
        self.assertEqual(len(self.host.values), 2)

    def test_nothing_is_committed_that_no_client_can_be_told(self) -> None:
        self.refused(types.ErrorCode.INTERNAL, None, create, "a", None, [("k", "v" * 5_000)])
        self.refused(types.ErrorCode.INTERNAL, None, create, "a", 1 << 63)
        self.assertEqual(self.host.values, {})


class AnswersTest(unittest.TestCase):
    def test_an_answer_that_the_host_would_refuse_is_found(self) -> None:
        long = "v" * (4 << 10)
        for words, volume_id, size, context in [
            ("volume-id has 0 bytes", "", 1, []),
            ("volume-id has 129 bytes", "i" * 129, 1, []),
            ("control character", "a\nb", 1, []),
            ("capacity-bytes is 9223372036", "v", 1 << 63, []),
            ("has 4097 bytes", "v", 1, [("k", long)]),
            ("the key 'k' twice", "v", 1, [("k", "1"), ("j", "1"), ("k", "2")]),
            ("value at ''", "v", 1, [("", "1")]),
            ("value at 'k'", "v", 1, [("k", "\0")]),
        ]:
            with self.subTest(words), self.assertRaises(Err) as refused:
                answers.check(types.Volume(size, volume_id, context, None, []))
            self.assertEqual(refused.exception.value.code, types.ErrorCode.INTERNAL)
            self.assertIn(words, refused.exception.value.message)
        answers.check(types.Volume((1 << 63) - 1, "i" * 128, [("k", long[1:])], None, []))


if __name__ == "__main__":
    unittest.main()
