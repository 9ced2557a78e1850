//! Parameters are read strictly, sizes as people write them.

use drivebay_sdk::ErrorCode;

use super::*;

fn pairs(given: &[(&str, &str)]) -> StringMap {
    given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn mutable_parameters_win() {
    let options = Options::read(&pairs(&[("reserve", "thin"), ("kind", "image")]), &pairs(&[("reserve", "full")]));
    assert_eq!(options.unwrap(), Options { kind: Some(Kind::Image), reserve: Some(Reserve::Full) });
}

#[test]
fn every_refusal_names_the_parameter() {
    for (parameters, mutable, named) in [
        (pairs(&[("kind", "Image")]), pairs(&[]), "kind"),
        (pairs(&[("colour", "red")]), pairs(&[]), "colour"),
        (pairs(&[]), pairs(&[("kind", "image")]), "kind"),
        (pairs(&[]), pairs(&[("reserve", "")]), "reserve"),
    ] {
        let refused = Options::read(&parameters, &mutable).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(refused.message.contains(named), "{}", refused.message);
    }
}

#[test]
fn a_group_is_named_or_not_given() {
    assert_eq!(group(&pairs(&[("group", "g")])).unwrap(), Some("g"));
    assert_eq!(group(&pairs(&[])).unwrap(), None);
    assert!(group(&pairs(&[("group", "")])).unwrap_err().message.contains("group"));
    assert!(read_ephemeral(&pairs(&[("group", "g")])).is_err());
}

#[test]
fn sizes_have_units() {
    for (text, bytes) in [("1", 1), ("64Mi", 64 << 20), ("2G", 2_000_000_000), ("3Ti", 3 << 40), ("5k", 5_000)] {
        assert_eq!(parse_size(text).unwrap(), bytes);
    }
    for text in ["", "0", "Mi", "-1", "1.5Gi", "1 Gi", "1Xi", "99999999999999999999", "99999999999Ti", "1m"] {
        assert_eq!(parse_size(text).unwrap_err().code, ErrorCode::InvalidArgument, "{text}");
    }
}

#[test]
fn the_context_of_an_ephemeral_volume_holds_its_size() {
    let context = pairs(&[("csi.storage.k8s.io/pod.name", "web-0"), ("size", "1Gi"), ("kind", "directory")]);
    let (options, size) = read_ephemeral(&context).unwrap();
    assert_eq!((options.kind, size), (Some(Kind::Directory), Some(1 << 30)));
}
