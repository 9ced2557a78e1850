//! What it means that two volumes hold the same bytes.

use super::same_bytes;

#[test]
fn files_that_differ_in_a_byte_or_in_length_are_not_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| directory.path().join(name));
    let mut bytes = vec![7; (3 << 20) + 5];
    std::fs::write(&paths[0], &bytes).unwrap();
    std::fs::write(&paths[1], &bytes).unwrap();
    assert_eq!(same_bytes(&paths), Ok(()));
    bytes[(2 << 20) + 1] = 8;
    std::fs::write(&paths[1], &bytes).unwrap();
    assert_eq!(same_bytes(&paths), Err("they differ in the MiB from byte 2097152 on".to_owned()));
    bytes[(2 << 20) + 1] = 7;
    bytes.push(7);
    std::fs::write(&paths[1], &bytes).unwrap();
    assert_eq!(same_bytes(&paths), Err("they differ in the MiB from byte 3145728 on".to_owned()));
}
