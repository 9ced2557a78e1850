//! A text that cannot take its place: nothing is left of the attempt.

use crate::disk::Lasting;
use crate::trial::World;

#[test]
fn what_cannot_take_its_place_leaves_nothing() {
    let (world, link) = (World::new(), tempfile::tempdir().unwrap());
    let folder = link.path().to_str().unwrap();
    world.settings.borrow_mut().push(("link".to_owned(), folder.to_owned()));
    world.volumes();
    let own = world.call(|backend| {
        backend.join_link()?;
        backend.own_folder()
    });
    let path = format!("{folder}/nowhere/text.json");
    for lasting in [Lasting::Now, Lasting::Soon] {
        let refused = world.call(|backend| backend.write_link(&path, &7, lasting)).unwrap_err();
        assert!(refused.message.contains(&path), "{}", refused.message);
    }
    assert_eq!(std::fs::read_dir(own.unwrap() + "/temporary").unwrap().count(), 0);
}
