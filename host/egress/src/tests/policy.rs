//! Decisions: grants, modes and standings against requests.

use http::Request;

use crate::error::DenyReason;
use crate::policy::Phase;
use crate::policy::{AddressVerdict, Policy};
use drivebay_policy::grants::http::grant::{Grant, Mode};

const GRANTED: &str = "https://array.example:8443";

fn policy(mode: Mode) -> Policy {
    let login = vec!["/api/login".to_owned()];
    let first = Grant { login, ..Grant::of(GRANTED.parse().unwrap()) };
    let second =
        Grant { addresses: vec!["10.0.0.0/8".parse().unwrap()], ..Grant::of("http://*.b.example".parse().unwrap()) };
    Policy::new(&[first, second], mode)
}

fn request(method: &str, uri: &str) -> Request<()> {
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

#[test]
fn decisions() {
    use Mode::{Enforce, Report};
    use Phase::{Serving, Trial};
    let other = "https://other.example/";
    for (mode, phase, method, uri, expected) in [
        (Enforce, Serving, "GET", "https://array.example:8443/x", Ok(None)),
        (Enforce, Serving, "DELETE", "https://array.example:8443/x", Ok(None)),
        (Enforce, Serving, "GET", other, Err(DenyReason::Origin)),
        (Enforce, Serving, "GET", "http://array.example:8443/x", Err(DenyReason::Origin)),
        (Enforce, Serving, "CONNECT", "https://array.example:8443/x", Err(DenyReason::Form)),
        (Report, Serving, "GET", other, Ok(Some(DenyReason::Origin))),
        (Report, Serving, "DELETE", other, Ok(Some(DenyReason::Origin))),
        // How a request is written, and trials, are enforced in every mode.
        (Report, Serving, "CONNECT", other, Err(DenyReason::Form)),
        (Report, Trial, "DELETE", other, Err(DenyReason::Trial)),
        (Enforce, Trial, "GET", "https://array.example:8443/x", Ok(None)),
        (Enforce, Trial, "HEAD", "https://array.example:8443/x", Ok(None)),
        (Enforce, Trial, "OPTIONS", "https://array.example:8443/x", Err(DenyReason::Trial)),
        (Enforce, Trial, "POST", "https://array.example:8443/x", Err(DenyReason::Trial)),
        (Enforce, Trial, "POST", "https://array.example:8443/api/login", Ok(None)),
        (Enforce, Trial, "POST", "https://array.example:8443/api/login?x=1", Ok(None)),
        (Enforce, Trial, "POST", "https://array.example:8443/api/login/", Err(DenyReason::Trial)),
        (Enforce, Trial, "POST", "https://array.example:8443/api/login/../volumes", Err(DenyReason::Trial)),
        (Enforce, Trial, "POST", "https://array.example:8443/api/%6cogin", Err(DenyReason::Trial)),
        // The paths of one grant are not those of another.
        (Enforce, Trial, "POST", "http://a.b.example/api/login", Err(DenyReason::Trial)),
    ] {
        let decided = policy(mode).decide(&request(method, uri), phase);
        let decided = decided.map(|decision| decision.reported).map_err(|(why, _)| why);
        assert_eq!(decided, expected, "{mode:?} {phase:?} {method} {uri}");
    }
    let nothing = Policy::new(&[], Enforce).decide(&request("GET", other), Serving);
    assert_eq!(nothing.map_err(|(why, _)| why).unwrap_err(), DenyReason::Ungranted);
}

#[test]
fn addresses_belong_to_their_grant() {
    for (mode, uri, address, expected) in [
        (Mode::Enforce, "https://array.example:8443/", "8.8.8.8", AddressVerdict::Reached),
        (Mode::Enforce, "https://array.example:8443/", "10.0.0.1", AddressVerdict::Refused),
        (Mode::Enforce, "http://a.b.example/", "10.0.0.1", AddressVerdict::Reached),
        (Mode::Enforce, "http://a.b.example/", "8.8.8.8", AddressVerdict::Refused),
        (Mode::Report, "https://array.example:8443/", "10.0.0.1", AddressVerdict::Reported),
        (Mode::Report, "https://other.example/", "10.0.0.1", AddressVerdict::Reported),
        (Mode::Report, "https://other.example/", "8.8.8.8", AddressVerdict::Reached),
        // What tells credentials is not for watching either.
        (Mode::Report, "https://other.example/", "169.254.169.254", AddressVerdict::Refused),
        (Mode::Report, "https://other.example/", "224.0.0.1", AddressVerdict::Refused),
    ] {
        let policy = policy(mode);
        let decision = policy.decide(&request("GET", uri), Phase::Serving).unwrap();
        assert_eq!(policy.reach(&decision).fate(address.parse().unwrap()), expected, "{mode:?} {uri} {address}");
    }
    let literal = Policy::new(&[Grant::of("https://10.0.0.5".parse().unwrap())], Mode::Enforce);
    let decision = literal.decide(&request("GET", "https://10.0.0.5/"), Phase::Serving).unwrap();
    assert_eq!(literal.reach(&decision).fate("10.0.0.5".parse().unwrap()), AddressVerdict::Reached);
}
