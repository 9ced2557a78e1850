//! What a backend may do here: as the mandate says, and as the operator's own file says when it is read again.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::harness::{BACKEND, MIB, PERMISSIONS, Site, call, code, wait};
use crate::{Access, DirectoryGrant, ErrorCode, Mandate, Node, Permissions};

use ErrorCode::{NotAllowed, NotFound, NotGranted};

fn granting(host: PathBuf, guest: &str) -> Permissions {
    Permissions { directories: vec![DirectoryGrant { host, guest: guest.to_owned(), write: true }], ..PERMISSIONS }
}

/// How an image that is not there is answered: `not-found` beneath a grant, `not-allowed` elsewhere.
fn reach(node: &Node, image: &str) -> ErrorCode {
    code(wait(node.attach_image(&call("c", &[]), "v", image, Access::ReadWrite)))
}

#[test]
fn what_the_operator_grants_later_comes_from_the_operators_file_alone() {
    let site = Site::new();
    fs::create_dir(site.path("more")).unwrap();
    let wanted = granting(site.path("more"), "/more");
    // The host wants it and nobody grants it.
    wait(site.node.permit(BACKEND, &wanted)).unwrap();
    assert_eq!(reach(&site.node, "/more/v.img"), NotAllowed);
    site.configure(&[(BACKEND.to_owned(), wanted.clone())].into());
    assert_eq!(reach(&site.node, "/more/v.img"), NotAllowed, "nobody has read it yet");
    wait(site.node.permit(BACKEND, &wanted)).unwrap();
    assert_eq!(reach(&site.node, "/more/v.img"), NotFound);
    assert_eq!(reach(&site.node, "/pool/v.img"), NotFound, "calls may be under way that began with this");
    // Whatever the host says that it wants: what stands in the file counts.
    wait(site.node.permit(BACKEND, &granting("/".into(), "/root"))).unwrap();
    assert_eq!(reach(&site.node, "/root/v.img"), NotAllowed);
    // The next helper reads it, too.
    site.crash();
    assert_eq!(reach(&site.node, "/more/v.img"), NotFound);
    site.configure(&[].into());
    assert_eq!(code(wait(site.node.permit(BACKEND, &granting("/".into(), "/root")))), NotGranted);
    site.assert_clean();
}

#[test]
fn a_file_that_the_host_may_have_written_grants_nothing() {
    let site = Site::new();
    let wanted = granting("/".into(), "/root");
    let text = serde_json::to_string(&crate::PermissionsByName::from([(BACKEND.to_owned(), wanted.clone())])).unwrap();
    fs::create_dir(site.path("open")).unwrap();
    fs::set_permissions(site.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let places = [("pool/configuration", 0o644), ("state/configuration", 0o644), ("open/configuration", 0o644)];
    for (place, mode) in places.into_iter().chain([("written", 0o646), ("shared", 0o664)]) {
        let path = site.path(place);
        File::create(&path).unwrap().set_permissions(fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&path, &text).unwrap();
        let state_dir = site.path(&format!("state-{mode}-{}", place.replace('/', "-")));
        // The directories of its own that a helper needs; the host's is that of the site.
        fs::create_dir(&state_dir).unwrap();
        let state_dir = if place.starts_with("state") { site.path("state") } else { state_dir };
        let mandate = Mandate { state_dir, file: Some(path), ..site.mandate.clone() };
        if place.starts_with("state") {
            site.kill();
        }
        let node = Node::start(super::harness::launch(mandate)).unwrap();
        let refused = wait(node.permit(BACKEND, &wanted)).unwrap_err();
        assert_eq!(refused.code, NotAllowed, "{place}");
        assert!(refused.message.contains("somebody else's words"), "{}", refused.message);
        assert_eq!(reach(&node, "/root/v.img"), NotAllowed, "{place}");
        assert_eq!(reach(&node, "/pool/v.img"), NotFound, "{place}: what was granted at the start stays");
        super::harness::kill(&node);
        wait(node.closed());
    }
}

#[test]
fn what_stood_on_a_command_line_stays_as_it_is() {
    let site = Site::new();
    site.kill();
    let node = Node::start(super::harness::launch(Mandate { file: None, ..site.mandate.clone() })).unwrap();
    site.configure(&[(BACKEND.to_owned(), granting("/".into(), "/root"))].into());
    wait(node.permit(BACKEND, &granting("/".into(), "/root"))).unwrap();
    assert_eq!(code(wait(node.permit("other", &granting("/".into(), "/root")))), NotGranted);
    assert_eq!(reach(&node, "/root/v.img"), NotAllowed);
    File::create(site.path("pool/v.img")).unwrap().set_len(MIB).unwrap();
    assert_eq!(reach(&node, "/pool/missing.img"), NotFound);
    super::harness::kill(&node);
    wait(node.closed());
}
