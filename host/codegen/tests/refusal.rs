//! What the generator refuses, and in which words: each test breaks a small pair of contracts in one
//! place.
//!
//! The words matter, because they are all that somebody who changes a contract gets to see.

use std::fs;

use drivebay_codegen::{Contracts, Tables, expand};

const PROTO: &str = r#"
syntax = "proto3";
package toy;

service Shelf {
  rpc Put(PutRequest) returns (PutResponse) {}
  rpc Clear(ClearRequest) returns (ClearResponse) {}
  rpc About(AboutRequest) returns (AboutResponse) {}
}

message PutRequest {
  string name = 1;
  int64 size = 2;
  Colour colour = 3;
  oneof place { Top top = 4; Drawer drawer = 5; }
  string old_name = 6;
  map<string, string> secrets = 7;
}
message Top {}
message Drawer { string label = 1; }
enum Colour { UNKNOWN = 0; RED = 1; DEEP_BLUE = 2; }
message PutResponse { Box box = 1; }
message Box { string id = 1; repeated string tags = 2; }
message ClearRequest { bool all = 1; }
message ClearResponse {}
message AboutRequest {}
message AboutResponse { string text = 1; }
"#;

const WIT: &str = "
package toy:shelf@0.1.0;

interface types {
  record error { message: string }
}

interface shelf {
  use types.{error};
  enum colour { red, deep-blue }
  variant place { top, drawer(string) }
  record put-request {
    name: string,
    size: option<u64>,
    colour: colour,
    place: place,
    secrets: list<tuple<string, string>>,
  }
  record box { id: string, tags: list<string> }
  record clear-request { all: bool }
  put: func(request: put-request) -> result<box, error>;
  clear: func(request: clear-request) -> result<_, error>;
  check: func() -> result<_, error>;
}

world everything { export shelf; }
";

const TABLE: &str = r#"
host-calls = ["shelf.check"]

[[service]]
name = "toy.Shelf"
side = "controller"
host = ["About"]
[service.guest]
Put = "shelf.put"
Clear = "shelf.clear"

[[rule]]
kind = "drop"
reason = "nobody sends it any more"
of = { "toy.PutRequest.old_name" = "" }
"#;

fn expanded(proto: &str, wit: &str, table: &str) -> anyhow::Result<Tables> {
    let root = tempfile::tempdir()?;
    let (proto_dir, wit_dir) = (root.path().join("proto"), root.path().join("wit"));
    fs::create_dir(&proto_dir)?;
    fs::create_dir(&wit_dir)?;
    fs::write(proto_dir.join("toy.proto"), proto)?;
    fs::write(wit_dir.join("toy.wit"), wit)?;
    expand(&Contracts { proto: &proto_dir, wit: &wit_dir, world: "everything", table })
}

/// Replaces a text that must be there.
fn with(whole: &str, old: &str, new: &str) -> String {
    assert!(whole.contains(old), "`{old}` is not in the contract");
    whole.replace(old, new)
}

/// The problems, one a line, without the heading.
fn refused(proto: &str, wit: &str, table: &str) -> Vec<String> {
    let expansion = expanded(proto, wit, table);
    let error = expansion.err().map(|error| format!("{error:#}")).unwrap_or_default();
    error.lines().skip(1).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn contracts_that_fit_become_rows() {
    let tables = expanded(PROTO, WIT, TABLE).unwrap();
    let (conversions, calls) = &tables.services["toy.Shelf"];
    let request = "record! {
    toy_put_request_is_shelf_put_request: pb::toy::PutRequest, exported::shelf::PutRequest, request;
    name: field => name,
    size: field => size,
    colour: number<pb::toy::Colour> => colour,
    place: one_of => place,
    secrets: field => secrets,
    - old_name,
}
";
    assert!(conversions.contains(request), "{conversions}");
    let place = "Drawer \"drawer\" => Drawer \"drawer\",\n    - Top => Top,";
    assert!(conversions.contains(place), "{conversions}");
    let colour = "Red => Red,\n    DeepBlue => DeepBlue,\n    - Unknown,";
    assert!(conversions.contains(colour), "{conversions}");
    let put = "Put: pb::toy::PutRequest => pb::toy::PutResponse,\n    Shelf, request exported::shelf::PutRequest => exported::shelf::Box, message";
    assert!(calls.contains(put), "{calls}");
    assert!(calls.contains("Shelf, request exported::shelf::ClearRequest => (), empty"), "{calls}");
    for row in [
        "About: \"toy.Shelf\", \"About\", \"/toy.Shelf/About\", false, false, Controller, Csi, Reads, None, [];",
        "\"/toy.Shelf/Put\", false, false, Controller, Csi, Changes, Some((Interface::Shelf, \"put\"))",
    ] {
        assert!(tables.facts.contains(row), "{row} in {}", tables.facts);
    }
    assert!(tables.facts.contains("(\"secrets\", Map, Secret)"), "{}", tables.facts);
}

#[test]
fn what_an_rpc_does_and_where_it_is_served_stands_in_the_table() {
    let reads = with(TABLE, "host = [\"About\"]", "host = [\"About\"]\nreads = [\"Put\"]");
    let tables = expanded(PROTO, WIT, &reads).unwrap();
    assert!(tables.facts.contains("\"/toy.Shelf/Put\", false, false, Controller, Csi, Reads,"), "{}", tables.facts);
    let reads = with(TABLE, "host = [\"About\"]", "host = [\"About\"]\nreads = [\"Look\"]");
    assert_eq!(refused(PROTO, WIT, &reads), ["toy.Shelf.Look is said to read, and no guest answers it"]);
    let nowhere = with(TABLE, "side = \"controller\"\n", "");
    assert!(format!("{:#}", expanded(PROTO, WIT, &nowhere).unwrap_err()).contains("side"));
}

#[test]
fn a_field_without_partner_is_named_on_either_side_and_all_are_listed_together() {
    let proto = with(PROTO, "string name = 1;", "string name = 1; bool fragile = 9;");
    let wit = with(WIT, "record box { id: string,", "record box { id: string, weight: u64,");
    assert_eq!(
        refused(&proto, &wit, TABLE),
        [
            "shelf.box.weight has no partner in toy.Box",
            "toy.PutRequest.fragile has no partner `fragile` in shelf.put-request",
        ]
    );
}

#[test]
fn a_case_or_value_without_partner_is_named_on_either_side() {
    let proto = with(PROTO, "DEEP_BLUE = 2;", "DEEP_BLUE = 2; GREEN = 3;");
    let wit = with(WIT, "variant place { top,", "variant place { top, floor,");
    assert_eq!(
        refused(&proto, &wit, TABLE),
        [
            "shelf.place.floor has no partner in toy.PutRequest.place",
            "toy.GREEN has no partner `green` in shelf.colour",
        ]
    );
}

#[test]
fn types_that_do_not_fit_are_named() {
    let wit = with(WIT, "size: option<u64>", "size: option<u32>");
    let wit = with(&wit, "drawer(string)", "drawer(u64)");
    let wit = with(&wit, "all: bool", "all: option<bool>");
    assert_eq!(
        refused(PROTO, &wit, TABLE),
        [
            "toy.ClearRequest.all does not fit the type option<bool>",
            "toy.Drawer.label does not fit the type u64",
            "toy.PutRequest.size does not fit the type option<u32>",
        ]
    );
}

#[test]
fn a_function_that_nobody_calls_and_a_row_without_function_are_named() {
    let wit = with(WIT, "clear: func", "empty-out: func");
    assert_eq!(
        refused(PROTO, &wit, TABLE),
        [
            "no RPC leads to shelf.empty-out, and the host does not call it",
            "the table names the function shelf.clear, that no exported interface has, or that stands in the table twice",
        ]
    );
}

#[test]
fn an_rpc_or_service_that_is_not_in_the_table_is_named() {
    let table = with(TABLE, "host = [\"About\"]", "host = [\"Help\"]");
    let proto = format!("{PROTO}\nservice Attic {{ rpc Look(AboutRequest) returns (AboutResponse) {{}} }}");
    assert_eq!(
        refused(&proto, WIT, &table),
        [
            "the RPC toy.Shelf.About is not in the table",
            "the service toy.Attic is not in the table",
            "the table names the RPC toy.Shelf.Help, which does not exist",
        ]
    );
}

#[test]
fn a_rule_without_effect_or_reason_is_refused() {
    let idle = with(TABLE, "toy.PutRequest.old_name", "toy.PutRequest.older_name");
    assert_eq!(
        refused(PROTO, WIT, &idle),
        [
            "the rule for toy.PutRequest.older_name has no effect",
            "toy.PutRequest.old_name has no partner `old-name` in shelf.put-request",
        ]
    );
    let silent = with(TABLE, "nobody sends it any more", " ");
    let problems = refused(PROTO, WIT, &silent);
    assert_eq!(problems, ["a rule has no reason: {\"toy.PutRequest.old_name\": \"\"}"]);
}

#[test]
fn more_rules_than_allowed_are_refused() {
    let more: Vec<String> = (0..15)
        .map(|number| {
            format!("[[rule]]\nkind = \"rename\"\nreason = \"test\"\nof = {{ \"toy.Nothing{number}.x\" = \"y\" }}\n")
        })
        .collect();
    let problems = refused(PROTO, WIT, &format!("{TABLE}\n{}", more.concat()));
    assert!(problems.contains(&"there are more than 15 rules".to_owned()), "{problems:?}");
}

#[test]
fn a_request_and_an_answer_must_both_be_there_or_not() {
    let wit = with(WIT, "clear: func(request: clear-request)", "clear: func()");
    let wit = with(
        &wit,
        "put: func(request: put-request) -> result<box, error>",
        "put: func(request: put-request) -> result<_, error>",
    );
    assert_eq!(
        refused(PROTO, &wit, TABLE),
        [
            "shelf.clear must take what toy.ClearRequest holds, as one value",
            "toy.Shelf.Put and its function do not answer the same",
        ]
    );
}

#[test]
fn an_unknown_key_in_the_table_is_an_error() {
    let table = with(TABLE, "host = [", "hosts = [");
    let error = format!("{:#}", expanded(PROTO, WIT, &table).unwrap_err());
    assert!(error.contains("unknown field `hosts`"), "{error}");
}

#[test]
fn a_stream_must_be_answered_in_pages() {
    let proto = with(PROTO, "returns (PutResponse)", "returns (stream PutResponse)");
    let problems = refused(&proto, WIT, TABLE);
    assert_eq!(problems, ["toy.Shelf.Put: a stream is answered in pages, and nothing else is"]);
}
