//! What a component's names can do to their reader. The bytes are made here, because no toolchain makes such.

use super::*;

/// A component that imports a function of this name.
fn importing(name: &str) -> Vec<u8> {
    let length = number(name.len());
    let import = [b"\x01\0".as_slice(), &length, name.as_bytes(), b"\x01\0"].concat();
    // The type: a function that takes and gives nothing.
    [b"\0asm\x0d\0\x01\0\x07\x05\x01\x40\0\x01\0\x0a".to_vec(), number(import.len()), import].concat()
}

/// LEB128.
fn number(value: usize) -> Vec<u8> {
    let (low, rest) = (u8::try_from(value & 0x7f).unwrap(), value >> 7);
    if rest == 0 { vec![low] } else { [vec![low | 0x80], number(rest)].concat() }
}

async fn loaded(bytes: Vec<u8>) -> Loaded {
    let loader = Loader::new(&Limits { calls: 1, ..Limits::default() }).unwrap();
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&bytes));
    loader.load(bytes.into(), digest, None).await.unwrap()
}

#[tokio::test]
async fn names_forge_no_line_and_stay_short() {
    for name in ["url=<a\nERROR all is lost\u{1b}[31m\u{202e}>".to_owned(), format!("url=<{}>", "x".repeat(50_000))] {
        let words = loaded(importing(&name)).await.linked.unwrap_err().to_string();
        assert!(words.starts_with("it cannot be linked: ") && words.contains("url=<"), "{words}");
        assert!(words.len() < 600 && !words.contains(['\n', '\u{1b}', '\u{202e}']), "{words:?}");
    }
    let version = format!("drivebay:backend/types@0.1.1-{}", "x".repeat(50_000));
    let foreign = loaded(importing_instance(&version)).await;
    assert!(foreign.shape.imports.iter().all(|name| name.len() < 300), "{:?}", foreign.shape);
    let words = foreign.linked.unwrap_err().to_string();
    assert!(words.starts_with("built for drivebay:backend@0.1.1-x"), "{words}");
    assert!(words.len() < 700, "{words}");
}

#[tokio::test]
async fn what_no_instance_may_have_is_told_from_what_is_damaged() {
    // A module with a memory of 2,000 pages, which nobody instantiates.
    let module = b"\0asm\x01\0\0\0\x05\x04\x01\0\xd0\x0f";
    let bytes = [b"\0asm\x0d\0\x01\0\x01\x0e".as_slice(), module].concat();
    let loader = Loader::new(&Limits { calls: 1, ..Limits::default() }).unwrap();
    let refused = loader.load(bytes.into(), "large".to_owned(), None).await.unwrap_err();
    assert!(matches!(&refused, LoadError::Large(words) if words.contains("131072000")), "{refused:?}");
}

/// A component that imports an interface with one function.
fn importing_instance(name: &str) -> Vec<u8> {
    let import = [b"\x01\0".as_slice(), &number(name.len()), name.as_bytes(), b"\x05\0"].concat();
    // The type: an instance with a type of a function and an export of it called `f`.
    let ty = b"\x01\x42\x02\x01\x40\0\x01\0\x04\0\x01f\x01\0".to_vec();
    let head = b"\0asm\x0d\0\x01\0\x07".to_vec();
    [head, number(ty.len()), ty, vec![0x0a], number(import.len()), import].concat()
}
