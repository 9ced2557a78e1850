//! The hostile guest with a core module in it that no toolchain makes, written byte by byte. Knows the binary
//! format as far as that takes.

use super::model::Module;

/// Sections of a component.
const CUSTOM: u8 = 0;
const CORE_MODULE: u8 = 1;
const CORE_INSTANCE: u8 = 2;
const COMPONENT: u8 = 4;
const INSTANCE: u8 = 5;
/// Bytes of the head: magic number, version and layer.
const HEAD: usize = 8;
/// Of a function that takes long to compile.
const LOCALS: usize = 200;
const LOOPS: usize = 600;

/// The component with these modules in it, each instantiated once after everything else.
pub(super) fn with(component: &[u8], module: Module) -> Vec<u8> {
    let (count, bytes) = match module {
        Module::Loop => (1, starting(&[0x03, 0x40, 0x0c, 0, 0x0b, 0x0b], None)),
        Module::Memories(count, pages) => (count, memory(pages)),
        Module::Nested(depth, pages) => return nested(component, depth, pages),
        Module::Table(elements) => {
            // ref.null func; i32.const; table.grow 0; drop; end.
            let code = [vec![0xd0, 0x70, 0x41], signed(elements), vec![0xfc, 15, 0, 0x1a, 0x0b]].concat();
            (1, starting(&code, Some(&[1, 0x70, 0, 1])))
        }
        Module::Additions(count) => (1, functions(&additions(count), 1)),
        Module::Functions(count) => (1, functions(&branches(), count)),
    };
    let first = sections_of(component, CORE_MODULE);
    let mut out = component.to_vec();
    for index in (first..).take(count) {
        section(&mut out, CORE_MODULE, &bytes);
        // One instance; of a module; which one; with no arguments.
        section(&mut out, CORE_INSTANCE, &[vec![1, 0], number(index), vec![0]].concat());
    }
    out
}

/// Makes it another file that means the same.
pub(super) fn mark(component: &mut Vec<u8>, number: u64) {
    section(component, CUSTOM, &[b"\x04mark", number.to_le_bytes().as_slice()].concat());
}

/// Components in components, each with a memory of its own beside the one in it.
fn nested(component: &[u8], depth: usize, pages: u32) -> Vec<u8> {
    let mut inner = Vec::new();
    for level in 0..depth {
        let mut outer = b"\0asm\x0d\0\x01\0".to_vec();
        section(&mut outer, CORE_MODULE, &memory(pages));
        section(&mut outer, CORE_INSTANCE, &[1, 0, 0, 0]);
        if level > 0 {
            section(&mut outer, COMPONENT, &inner);
            section(&mut outer, INSTANCE, &[1, 0, 0, 0]);
        }
        inner = outer;
    }
    let mut out = component.to_vec();
    let index = number(sections_of(component, COMPONENT));
    section(&mut out, COMPONENT, &inner);
    section(&mut out, INSTANCE, &[vec![1, 0], index, vec![0]].concat());
    out
}

/// A module whose start function has this code, and that has this table.
fn starting(code: &[u8], table: Option<&[u8]>) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(&mut module, 1, &[1, 0x60, 0, 0]);
    section(&mut module, 3, &[1, 0]);
    if let Some(table) = table {
        section(&mut module, 4, table);
    }
    section(&mut module, 8, &[0]);
    let body = [&[0], code].concat();
    section(&mut module, 10, &[vec![1], number(body.len()), body].concat());
    module
}

/// A module with a memory of so many pages.
fn memory(pages: u32) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(&mut module, 5, &[vec![1, 0], number(usize::try_from(pages).unwrap_or(0))].concat());
    module
}

/// A module with so many functions of this code, each of one number and with no result.
fn functions(code: &[u8], count: usize) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(&mut module, 1, &[1, 0x60, 1, 0x7f, 0]);
    section(&mut module, 3, &[number(count), vec![0; count]].concat());
    let body = [number(code.len()), code.to_vec()].concat();
    section(&mut module, 10, &[number(count), body.repeat(count)].concat());
    module
}

/// So many additions.
fn additions(count: usize) -> Vec<u8> {
    // local.get 0; i32.const 1; i32.add; local.set 0; and the end.
    [vec![0], [0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(count), vec![0x0b]].concat()
}

/// Two hundred numbers that all live on across six hundred loops: hard on the register allocator.
fn branches() -> Vec<u8> {
    let mut code = vec![1];
    code.extend(number(LOCALS));
    code.push(0x7f);
    for step in 0..LOOPS {
        // loop; one local becomes the sum of itself and another; br_if 0 on it; end.
        let (one, other) = (number(1 + step % LOCALS), number(1 + (step * 7 + 3) % LOCALS));
        code.extend([0x03, 0x40, 0x20]);
        code.extend(&one);
        code.push(0x20);
        code.extend(&other);
        code.extend([0x6a, 0x22]);
        code.extend(&one);
        code.extend([0x0d, 0, 0x0b]);
    }
    code.push(0x0b);
    code
}

fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    out.extend(number(content.len()));
    out.extend(content);
}

/// How many sections of a kind a component has: of those that define one thing each, which counts their indices.
fn sections_of(component: &[u8], kind: u8) -> usize {
    let (mut rest, mut found) = (component.get(HEAD..).unwrap_or_default(), 0);
    while let Some((id, after)) = rest.split_first() {
        let width = after.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
        let digits = after.get(..width).unwrap_or_default();
        let length = digits.iter().rev().fold(0_usize, |value, byte| value << 7 | usize::from(byte & 0x7f));
        found += usize::from(*id == kind);
        rest = after.get(width.saturating_add(length)..).unwrap_or_default();
    }
    found
}

/// LEB128.
fn number(value: usize) -> Vec<u8> {
    let (low, rest) = (low_bits(value), value >> 7);
    if rest == 0 { vec![low] } else { [vec![low | 0x80], number(rest)].concat() }
}

/// The same for a signed number that is not negative: the last byte's second bit is its sign.
fn signed(value: u32) -> Vec<u8> {
    let (low, rest) = (low_bits(usize::try_from(value).unwrap_or(0)), value >> 7);
    if rest == 0 && low & 0x40 == 0 { vec![low] } else { [vec![low | 0x80], signed(rest)].concat() }
}

fn low_bits(value: usize) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or(0)
}
