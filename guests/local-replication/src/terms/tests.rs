//! Parameters as the real controller's classes write them.

use super::*;

fn read(given: &[(&str, &str)]) -> Result<Terms> {
    Terms::read(&given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn intervals_have_units() {
    for (text, seconds) in [("30s", 30), ("1m", 60), ("5m", 300), ("2h", 7_200), ("1d", 86_400)] {
        assert_eq!(read(&[("schedulingInterval", text)]).unwrap().interval, seconds);
    }
    for text in ["", "m", "0m", "5", "-1m", "1.5h", "5 m", "1w", "99999999999999999999d", "400d"] {
        assert!(read(&[("schedulingInterval", text)]).unwrap_err().message.contains("schedulingInterval"), "{text}");
    }
}

#[test]
fn nothing_given_means_every_hour() {
    let terms = read(&[]).unwrap();
    assert_eq!((terms.mode, terms.interval, terms.start), (Mode::Async, 3_600, None));
    assert_eq!(read(&[("mode", "sync-on-demote")]).unwrap().mode, Mode::SyncOnDemote);
    assert!(read(&[("replication.storage.openshift.io/replication-secret-name", "x")]).is_ok());
}

#[test]
fn every_refusal_names_the_parameter() {
    for (key, value) in [("mode", "sync"), ("schedulingStartTime", "noon"), ("colour", "red")] {
        assert!(read(&[(key, value)]).unwrap_err().message.contains(key));
    }
}
