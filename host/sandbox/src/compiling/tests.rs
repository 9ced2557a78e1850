//! The compiler's process as its caller sees it: code, refusals, limits, and that it does not outlive anybody who
//! waits for it. The process of these tests is this test binary, started anew with a variable set.

use super::*;

/// Where the order stands for a process that is to be the compiler.
pub(super) const ORDER: &str = "DRIVEBAY_TEST_COMPILER";

/// Where the compiler of the other tests starts; in an ordinary run it has nothing to do.
#[test]
fn compiler_entry() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [engine, memory, cpu, output, threads] = order.split(' ').collect::<Vec<_>>()[..] else { panic!("{order}") };
    let [memory, cpu, output] = [memory, cpu, output].map(|number| number.parse().unwrap());
    let bounds = Bounds { memory, cpu, output };
    let order = Order { engine: engine.to_owned(), bounds, threads: threads.parse().unwrap() };
    std::process::exit(child::outcome(&order).into());
}

const MIB: u64 = 1 << 20;

fn engine() -> String {
    super::super::engine::compatibility(&super::super::engine::for_compiling().unwrap())
}

fn allowance() -> Allowance {
    Allowance { memory: 512 * MIB, time: Duration::from_mins(2), threads: 1 }
}

/// A component that is nothing.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

#[test]
fn code_comes_back_and_is_this_engines() {
    let (_wanted, unwanted) = CancelOnDrop::new().unwrap();
    let code = run(EMPTY, &engine(), allowance(), &unwanted).unwrap();
    let kind = wasmtime::Engine::detect_precompiled(&code);
    assert_eq!(kind, Some(wasmtime::Precompiled::Component));
}

#[test]
fn what_is_wrong_is_said() {
    let (_wanted, unwanted) = CancelOnDrop::new().unwrap();
    let broken = run(b"\0asm\x0d\0\x01\0 and no more", &engine(), allowance(), &unwanted);
    assert!(matches!(&broken, Err(LoadError::Broken(words)) if !words.is_empty()), "{broken:?}");
    let foreign = run(EMPTY, "another-engine", allowance(), &unwanted);
    assert!(matches!(&foreign, Err(LoadError::Engine(words)) if words.contains("not the host's")), "{foreign:?}");
}

#[test]
fn limits_end_it_in_words() {
    let (_wanted, unwanted) = CancelOnDrop::new().unwrap();
    let bomb = bomb(400_000);
    let little = Allowance { memory: 96 * MIB, ..allowance() };
    let said = run(&bomb, &engine(), little, &unwanted).unwrap_err().to_string();
    assert!(said.contains("96 MiB of memory"), "{said}");
    let soon = Allowance { time: Duration::from_millis(50), ..allowance() };
    let said = run(&bomb, &engine(), soon, &unwanted).unwrap_err().to_string();
    assert!(said.contains("not done after 50ms"), "{said}");
}

#[test]
fn nobody_waits_nobody_works() {
    let (wanted, unwanted) = CancelOnDrop::new().unwrap();
    drop(wanted);
    let ended = run(&bomb(400_000), &engine(), allowance(), &unwanted);
    assert!(matches!(ended, Err(LoadError::Cancelled)), "{ended:?}");
}

/// A component with one module with one function of so many additions.
fn bomb(additions: usize) -> Vec<u8> {
    // local.get 0; i32.const 1; i32.add; local.set 0.
    let body = [b"\0".to_vec(), [0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(additions), vec![0x0b]].concat();
    let code = [vec![1], number(body.len()), body].concat();
    let mut module = b"\0asm\x01\0\0\0\x01\x05\x01\x60\x01\x7f\0\x03\x02\x01\0\x0a".to_vec();
    module.extend([number(code.len()), code].concat());
    [EMPTY.to_vec(), vec![1], number(module.len()), module].concat()
}

/// LEB128.
fn number(value: usize) -> Vec<u8> {
    let (low, rest) = (u8::try_from(value & 0x7f).unwrap(), value >> 7);
    if rest == 0 { vec![low] } else { [vec![low | 0x80], number(rest)].concat() }
}
