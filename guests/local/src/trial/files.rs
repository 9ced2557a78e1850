//! A name that cannot be taken: the writing is refused and leaves nothing behind.

use drivebay_sdk::Result;

use crate::backend::Backend;
use crate::trial::World;

type Writing = fn(&Backend<'_>, &str, &u32) -> Result<()>;

#[test]
fn what_cannot_take_its_name_leaves_nothing() {
    let world = World::new();
    world.volumes();
    let path = format!("{}/taken", world.pool.path());
    std::fs::create_dir(&path).unwrap();
    let before = world.pool.files();
    let writings: [Writing; 3] = [
        |on, path, text| on.pool.replace(path, text),
        |on, path, text| on.pool.replace_soon(path, text),
        |on, path, text| on.pool.note(path, text),
    ];
    for writing in writings {
        let refused = world.call(|backend| writing(backend, &path, &7)).unwrap_err();
        assert!(refused.message.contains("taken"), "{}", refused.message);
        assert_eq!(world.pool.files(), before);
    }
}
