//! A text that cannot take its place in the link: nothing is left of the attempt.

use super::sites::*;

/// Puts a folder where a text of site A stands.
fn obstruct(path: &str) {
    std::fs::remove_file(path).unwrap();
    std::fs::create_dir(path).unwrap();
}

#[test]
fn what_cannot_take_its_place_leaves_nothing() {
    let sites = Sites::new();
    let (id, _) = sites.replicated(&[]);
    let site = format!("{}/sites/{}", sites.link.path().display(), sites.a.site());
    let role = sites.files_of(&sites.a).into_iter().find(|path| path.ends_with("role.json")).unwrap();
    let heartbeat = format!("{site}/site.json");
    obstruct(&role);
    obstruct(&heartbeat);

    let refused = sites.a.call(|backend| backend.replication.run_step("beat")).unwrap_err();
    assert!(refused.message.contains(&heartbeat), "{}", refused.message);
    sites.a.demote(volume(&id)).unwrap();
    let warnings = sites.a.warnings.borrow();
    assert!(warnings.iter().any(|warning| warning.contains(&role)), "{warnings:?}");
    assert_eq!(std::fs::read_dir(format!("{site}/temporary")).unwrap().count(), 0);
}
