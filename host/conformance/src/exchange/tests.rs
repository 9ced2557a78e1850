//! What is shown of an exchange: everything but secrets.

use bytes::Bytes;
use tonic::Code;

use super::{Exchange, Words};
use crate::wire::proto::csi::v1;
use crate::wire::proto::encryptionkeyrotation::EncryptionKeyRotateRequest;
use crate::wire::{DESCRIPTORS, Rpc};

fn words() -> Words {
    Words::new(DESCRIPTORS, vec!["open-sesame".to_owned()]).unwrap()
}

fn exchange<R: Rpc>(request: &R, message: &str) -> Exchange {
    Exchange {
        path: R::PATH,
        place: "site A".to_owned(),
        request: Bytes::from(request.encode_to_vec()),
        code: Code::NotFound,
        message: message.to_owned(),
        details: Bytes::new(),
        replies: Vec::new(),
    }
}

#[test]
fn secrets_are_hidden_and_the_rest_is_shown() {
    let mut request = v1::DeleteVolumeRequest { volume_id: "v1".to_owned(), ..Default::default() };
    request.secrets.insert("token".to_owned(), "something else".to_owned());
    let shown = words().show(&exchange(&request, "no volume"));
    let text = shown.request.to_string();
    assert!(text.contains("\"volume_id\":\"v1\"") && text.contains("token"), "{text}");
    assert!(!text.contains("something else"), "{text}");
    assert_eq!((shown.code.as_str(), shown.message.as_str()), ("NOT_FOUND", "no volume"));
}

#[test]
fn marked_fields_are_hidden_whatever_they_are_called() {
    let request = EncryptionKeyRotateRequest { encryption_key: "the key itself".to_owned(), ..Default::default() };
    let shown = words().show(&exchange(&request, ""));
    assert!(!shown.request.to_string().contains("the key itself"), "{}", shown.request);
}

#[test]
fn a_leaked_secret_is_not_leaked_on() {
    let mut request = v1::DeleteVolumeRequest { volume_id: "open-sesame".to_owned(), ..Default::default() };
    request.secrets.insert("token".to_owned(), "open-sesame".to_owned());
    let shown = words().show(&exchange(&request, "open-sesame is wrong"));
    let text = serde_json::to_string(&shown).unwrap();
    assert!(!text.contains("open-sesame"), "{text}");
}

#[test]
fn every_path_has_descriptors() {
    for row in crate::wire::ROWS {
        assert!(words().types(row.path).is_some(), "{}", row.path);
    }
    assert_eq!(crate::wire::ROWS.len(), 58);
}

#[test]
fn what_cannot_be_read_is_said() {
    let mut broken = exchange(&v1::ProbeRequest {}, "");
    broken.request = Bytes::from_static(&[0xff, 0xff]);
    assert!(words().show(&broken).request.as_str().is_some_and(|text| text.contains("2 bytes")));
}
