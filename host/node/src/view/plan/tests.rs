//! Plans on real files, and the differences between invented ones.

use std::os::unix::fs::symlink;

use super::*;

const NOWHERE: Source = Source { mount: 1, device: (8, 1), inode: 1, is_directory: true, is_device: false };

/// What is shown, what is wanted, what goes and what comes.
type Row<'a> = (&'a [(&'a str, u64)], &'a [(&'a str, u64)], &'a [&'a str], &'a [&'a str]);

/// What is to be seen, and what is planned for it.
type Case<'a> = (Vec<Visible>, &'a [(&'a str, &'a str)]);

fn shown(path: &Path, how: Visibility) -> Visible {
    Visible { path: path.to_owned(), how }
}

/// What a plan has below a directory: names, and whether they may be written to; links by their targets.
fn told(plan: &Plan, root: &Path) -> Vec<(String, String)> {
    let below = |path: &PathBuf| path.strip_prefix(root).ok().map(|path| path.display().to_string());
    let words = |item: &Item| match item {
        Item::Link(target) => format!("-> {}", target.display()),
        Item::Bind(bind) if bind.write => "write".to_owned(),
        Item::Bind(_) => "read".to_owned(),
        Item::Empty(_) => "empty".to_owned(),
    };
    plan.iter().filter_map(|(path, item)| Some((below(path)?, words(item)))).collect()
}

fn root() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    (directory, root)
}

#[test]
fn what_is_named_is_planned_where_it_is() {
    let (_held, root) = root();
    for name in ["pool/deep", "pool/a/state/b", "vendor", "releases/1", "certificates"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    for name in ["vendor/a.wasm", "releases/1/b.wasm", "certificates/ca.pem", "certificates/key.pem"] {
        fs::write(root.join(name), "x").unwrap();
    }
    symlink("releases/1", root.join("present")).unwrap();
    symlink("../releases/1/b.wasm", root.join("vendor/b.wasm")).unwrap();
    let at = |name: &str, how| shown(&root.join(name), how);
    let cases: [Case<'_>; 15] = [
        (vec![at("pool", Visibility::Write)], &[("pool", "write")]),
        (vec![at("pool", Visibility::Read), at("absent", Visibility::Read)], &[("pool", "read")]),
        (vec![at("made/for/sockets", Visibility::Own)], &[("made/for/sockets", "write")]),
        // Beside and below each other.
        (vec![at("pool", Visibility::Write), at("pool/deep", Visibility::Read)], &[("pool", "write")]),
        (
            vec![at("pool", Visibility::Read), at("pool/deep", Visibility::Write)],
            &[("pool", "read"), ("pool/deep", "write")],
        ),
        // A file with its directory, alone, and not there yet.
        (vec![at("vendor/a.wasm", Visibility::Beside)], &[("vendor", "read")]),
        (vec![at("certificates/ca.pem", Visibility::Alone)], &[("certificates/ca.pem", "read")]),
        (
            vec![at("vendor/absent.wasm", Visibility::Beside), at("vendor/no/no.wasm", Visibility::Beside)],
            &[("vendor", "read")],
        ),
        // The operator's links, of directories and of files.
        (vec![at("present/b.wasm", Visibility::Beside)], &[("present", "-> releases/1"), ("releases/1", "read")]),
        (vec![at("vendor/b.wasm", Visibility::Beside)], &[("releases/1", "read"), ("vendor", "read")]),
        // What is hidden, in a directory of its own, deep in another one, and where nothing can be written.
        (
            vec![at("pool", Visibility::Own), at("pool/deep", Visibility::Hidden)],
            &[("pool", "write"), ("pool/deep", "empty")],
        ),
        (
            vec![
                at("pool", Visibility::Own),
                at("pool/a/state", Visibility::Own),
                at("pool/a/state/b", Visibility::Hidden),
            ],
            &[("pool", "write"), ("pool/a", "write"), ("pool/a/state", "write"), ("pool/a/state/b", "empty")],
        ),
        // What is another process's: by itself, to read, and what leads there cannot be moved.
        (
            vec![at("pool", Visibility::Own), at("pool/deep", Visibility::Held)],
            &[("pool", "write"), ("pool/deep", "read")],
        ),
        (
            vec![at("pool", Visibility::Own), at("pool/a/state", Visibility::Held)],
            &[("pool", "write"), ("pool/a", "write"), ("pool/a/state", "read")],
        ),
        (
            vec![at("releases", Visibility::Read), at("releases/1", Visibility::Hidden)],
            &[("releases", "read"), ("releases/1", "empty")],
        ),
    ];
    for (visible, expected) in cases {
        let told = told(&plan(&visible, &mut PathProbes::default()), &root);
        let expected: Vec<_> = expected.iter().map(|(path, how)| ((*path).to_owned(), (*how).to_owned())).collect();
        assert_eq!(told, expected, "{visible:?}");
    }
}

#[test]
fn a_link_without_end_leads_nowhere() {
    let (_held, root) = root();
    symlink("loop", root.join("loop")).unwrap();
    let plan = plan(&[shown(&root.join("loop/x"), Visibility::Write)], &mut PathProbes::default());
    assert!(plan.values().all(|item| matches!(item, Item::Link(_))), "{plan:?}");
}

#[test]
fn a_file_in_a_directory_of_everybodys_is_alone() {
    let plan = plan(&[shown(Path::new("/etc/passwd"), Visibility::Beside)], &mut PathProbes::default());
    assert_eq!(told(&plan, Path::new("/")), [("etc/passwd".to_owned(), "read".to_owned())]);
}

#[test]
fn what_took_a_place_is_planned_anew() {
    let (_held, root) = root();
    let pool = root.join("pool");
    fs::create_dir(&pool).unwrap();
    let visible = [shown(&pool, Visibility::Write)];
    let before = plan(&visible, &mut PathProbes::default());
    assert_eq!(steps(&before, &plan(&visible, &mut PathProbes::default())), Steps::default());
    fs::rename(&pool, root.join("aside")).unwrap();
    assert_eq!(
        steps(&before, &plan(&visible, &mut PathProbes::default())),
        Steps { go: vec![pool.clone()], come: Vec::new() }
    );
    fs::create_dir(&pool).unwrap();
    assert_eq!(
        steps(&before, &plan(&visible, &mut PathProbes::default())),
        Steps { go: vec![pool.clone()], come: vec![pool] }
    );
}

#[test]
fn what_stands_below_goes_and_comes_with_what_is_above_it() {
    let bind =
        |inode: u64| Item::Bind(Bind { source: Source { inode, ..NOWHERE }, write: false, below: true, held: false });
    let of =
        |rows: &[(&str, u64)]| rows.iter().map(|(path, inode)| (PathBuf::from(path), bind(*inode))).collect::<Plan>();
    let cases: [Row<'_>; 6] = [
        (&[], &[("/a", 1), ("/a/b", 2)], &[], &["/a", "/a/b"]),
        (&[("/a", 1), ("/c", 2)], &[("/a", 1), ("/c", 3)], &["/c"], &["/c"]),
        // Mounted above, it would hide what is below; taken away, it takes that with it.
        (&[("/a/b", 1)], &[("/a", 2), ("/a/b", 1)], &["/a/b"], &["/a", "/a/b"]),
        (&[("/a", 1), ("/a/b", 2)], &[("/a", 3), ("/a/b", 2)], &["/a/b", "/a"], &["/a", "/a/b"]),
        (&[("/a", 1), ("/a/b", 2)], &[("/a/b", 2)], &["/a/b", "/a"], &["/a/b"]),
        // A name is no directory of another one.
        (&[("/a", 1), ("/ab", 2)], &[("/a", 3), ("/ab", 2)], &["/a"], &["/a"]),
    ];
    for (shown, wanted, go, come) in cases {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(steps(&of(shown), &of(wanted)), Steps { go: paths(go), come: paths(come) }, "{shown:?} {wanted:?}");
    }
}
