//! Components that no toolchain makes: a built one with further core modules in it, written byte by byte.
//! Knows the binary format as far as that takes, and nothing of what is in the component.

/// Sections of a component.
const CORE_MODULE: u8 = 1;
const CORE_INSTANCE: u8 = 2;

/// Bytes of the head: magic number, version and layer.
const HEAD: usize = 8;

/// The component, and in it further core modules, each instantiated once after everything else.
pub fn with_modules(component: &[u8], modules: &[Vec<u8>]) -> Vec<u8> {
    let mut out = component.to_vec();
    for (index, module) in (count_of_modules(component)..).zip(modules) {
        section(&mut out, CORE_MODULE, module);
        // One instance; of a module; which one; with no arguments.
        let instance = [vec![1, 0], number(index), vec![0]].concat();
        section(&mut out, CORE_INSTANCE, &instance);
    }
    out
}

/// A module whose start function makes its table so many elements larger.
pub fn growing_table(elements: u32) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // A function type without parameters and results, and a function of it.
    section(&mut module, 1, &[1, 0x60, 0, 0]);
    section(&mut module, 3, &[1, 0]);
    // A table of function references, one at first.
    section(&mut module, 4, &[1, 0x70, 0, 1]);
    section(&mut module, 8, &[0]);
    // No locals; ref.null func; i32.const; table.grow 0; drop; end.
    let body = [vec![0, 0xd0, 0x70, 0x41], signed(elements), vec![0xfc, 15, 0, 0x1a, 0x0b]].concat();
    section(&mut module, 10, &[vec![1], number(u32::try_from(body.len()).unwrap()), body].concat());
    module
}

/// A module with one function of so many additions.
pub fn additions(count: usize) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // A function of one number to nothing.
    section(&mut module, 1, &[1, 0x60, 1, 0x7f, 0]);
    section(&mut module, 3, &[1, 0]);
    // No further locals; local.get 0; i32.const 1; i32.add; local.set 0; end.
    let body = [vec![0], [0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(count), vec![0x0b]].concat();
    section(&mut module, 10, &[vec![1], number(u32::try_from(body.len()).unwrap()), body].concat());
    module
}

fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    out.extend(number(u32::try_from(content.len()).unwrap()));
    out.extend(content);
}

/// How many core modules a component defines itself, which is what counts their indices.
fn count_of_modules(component: &[u8]) -> u32 {
    let (mut at, mut modules) = (HEAD, 0);
    while at < component.len() {
        modules += u32::from(component[at] == CORE_MODULE);
        let (length, width) = read_number(&component[at + 1..]);
        at += 1 + width + usize::try_from(length).unwrap();
    }
    modules
}

/// LEB128.
fn number(value: u32) -> Vec<u8> {
    let (low, rest) = (u8::try_from(value & 0x7f).unwrap(), value >> 7);
    if rest == 0 { vec![low] } else { [vec![low | 0x80], number(rest)].concat() }
}

/// The same for a signed number that is not negative: the last byte's second bit is its sign.
fn signed(value: u32) -> Vec<u8> {
    let (low, rest) = (u8::try_from(value & 0x7f).unwrap(), value >> 7);
    if rest == 0 && low & 0x40 == 0 { vec![low] } else { [vec![low | 0x80], signed(rest)].concat() }
}

fn read_number(bytes: &[u8]) -> (u32, usize) {
    let width = 1 + bytes.iter().position(|byte| byte & 0x80 == 0).expect("a number ends");
    let value = bytes[..width].iter().rev().fold(0, |value, byte| value << 7 | u32::from(byte & 0x7f));
    (value, width)
}
