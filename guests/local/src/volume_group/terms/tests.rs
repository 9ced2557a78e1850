//! The one parameter is read strictly.

use super::*;

fn read(key: &str, value: &str) -> Result<usize> {
    max_volumes(&vec![(key.to_owned(), value.to_owned())])
}

#[test]
fn numbers_within_the_limit_pass() {
    assert_eq!(max_volumes(&Vec::new()).unwrap(), MOST_VOLUMES);
    assert_eq!(read("max-volumes", "8").unwrap(), 8);
    assert_eq!(read("csi.storage.k8s.io/anything", "8").unwrap(), MOST_VOLUMES);
    for value in ["0", "101", "-1", "", "many"] {
        assert!(read("max-volumes", value).unwrap_err().message.contains("max-volumes"), "{value:?}");
    }
    assert!(read("colour", "red").unwrap_err().message.contains("colour"));
}
