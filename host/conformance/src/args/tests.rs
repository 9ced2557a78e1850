//! The words of the command line, and ranges of ids.

use clap::Parser;

use super::{Args, Form};

fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("conform").chain(line.split_whitespace()))
}

#[test]
fn sites_are_made_of_sockets() {
    let args = parse("--csi unix:///c --csi-node unix:///n1 --csi-node unix:///n2 --addons unix:///a").unwrap();
    let sites = args.sites().unwrap();
    assert_eq!(sites.len(), 1);
    assert_eq!((sites[0].csi.as_str(), sites[0].nodes.len()), ("unix:///c", 2));
    let args = parse("--csi unix:///c --csi-b unix:///cb --addons-b unix:///ab").unwrap();
    assert_eq!(args.sites().unwrap()[1].addons.as_deref(), Some("unix:///ab"));
}

#[test]
fn what_belongs_together_is_demanded() {
    for line in ["", "--csi-b unix:///b", "--csi unix:///c --csi-b unix:///b", "--csi unix:///c --addons-b unix:///b"] {
        assert!(parse(line).is_err(), "{line}");
    }
    assert!(parse("--list").is_ok(), "a list needs no driver");
}

#[test]
fn a_wrong_choice_is_wrong_usage() {
    let error = parse("--list --only R-999").unwrap_err().to_string();
    assert!(error.contains("there is no rule"), "{error}");
    assert!(parse("--list --only R-01..R-05,X-40").unwrap().choice().has("X-40"));
}

#[test]
fn a_run_can_be_made_again_from_its_words() {
    let line =
        "--csi unix:///c --csi-node unix:///n --addons unix:///a --with d.toml --strict --only R-03 --report html";
    let args = parse(line).unwrap();
    let again = "drivebay conform --csi unix:///c --csi-node unix:///n --addons unix:///a --with d.toml --strict";
    assert_eq!(args.again(), again);
    let odd = Args::try_parse_from(["conform", "--csi", "unix:///a b'c"]).unwrap();
    assert_eq!(odd.again(), r"drivebay conform --csi 'unix:///a b'\''c'");
}

#[test]
fn json_has_two_names() {
    let form = |line: &str| parse(&format!("--csi unix:///c {line}")).map(|args| args.form());
    assert_eq!(form("").unwrap(), Form::Text);
    assert_eq!(form("--json").unwrap(), Form::Json);
    assert_eq!(form("--report json").unwrap(), Form::Json);
    assert_eq!(form("--report html").unwrap(), Form::Html);
    assert!(form("--json --report html").is_err() && form("--report pdf").is_err());
}
