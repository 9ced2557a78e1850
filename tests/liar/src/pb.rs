//! The gRPC messages, servers and clients, as the build script made them.

include!(concat!(env!("OUT_DIR"), "/pb.rs"));
