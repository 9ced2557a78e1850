"""Makes calls with Python's gRPC and says how each ended.

Reads lines `PATH KIND BYTES` from standard input (KIND: unary or stream; BYTES in hexadecimal digits)
and prints `PATH CODE` for each. Messages stay bytes, so nothing is generated and nothing but the
transport is tried.

Usage: every_call.py SOCKET [AUTHORITY]
"""

import sys

import grpc

SECONDS = 30


def call(channel, path, kind, request):
    raw = {"request_serializer": None, "response_deserializer": None}
    try:
        if kind == "stream":
            for _ in channel.unary_stream(path, **raw)(request, timeout=SECONDS):
                pass
        else:
            channel.unary_unary(path, **raw)(request, timeout=SECONDS)
        return "OK"
    except grpc.RpcError as error:
        return error.code().name


def main(socket, authority=None):
    # Without an option the client makes an authority of the socket's path.
    options = [("grpc.default_authority", authority)] if authority else []
    with grpc.insecure_channel(f"unix:{socket}", options=options) as channel:
        for line in sys.stdin:
            path, kind, *rest = line.split()
            print(path, call(channel, path, kind, bytes.fromhex("".join(rest))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
