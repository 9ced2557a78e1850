//! The code of a made component: functions of the right core types, each of which gives an answer that lies in memory since
//! the beginning. Owns how values lie there; their meaning is others'.

use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ExportKind, ExportSection, FunctionSection, MemorySection, MemoryType, Module,
    TypeSection, ValType,
};

use crate::maker::Maker;
use crate::types::{Core, Function, Ty, up};

/// Where answers begin; below is nothing, and above is what is asked.
const BEGIN: usize = 1024;
/// Where they end.
const END: usize = 32 * 1024;

/// The name of a function in the core module.
pub fn name(number: usize) -> String {
    format!("f{number}")
}

/// The core module: what asks for memory, then these functions.
pub fn module(functions: &[&Function], ending: usize, maker: &mut Maker<'_>) -> Module {
    let mut image = Image { bytes: vec![0; END], next: BEGIN };
    let (mut types, mut declared, mut exports) = (TypeSection::new(), FunctionSection::new(), ExportSection::new());
    let mut code = CodeSection::new();
    types.ty().function([ValType::I32; 4], [ValType::I32]);
    declared.function(0);
    exports.export("memory", ExportKind::Memory, 0);
    exports.export("realloc", ExportKind::Func, 0);
    let mut realloc = wasm_encoder::Function::new([]);
    realloc.instructions().i32_const(i32::try_from(END).unwrap_or_default()).end();
    code.function(&realloc);
    for (at, function) in functions.iter().enumerate() {
        let (params, result) = function.core();
        let number = u32::try_from(at + 1).unwrap_or_default();
        types.ty().function(params.into_iter().map(value), result.map(value));
        declared.function(number);
        exports.export(&name(at), ExportKind::Func, number);
        // Only what takes nothing is called when a component is loaded.
        let answer = function.result.as_ref().filter(|_| function.params.is_empty());
        code.function(&body(result, answer.map_or(BEGIN, |ty| image.answer(ty, maker)), ending));
    }
    let mut memories = MemorySection::new();
    let memory64 = false;
    memories.memory(MemoryType { minimum: 1, maximum: None, memory64, shared: false, page_size_log2: None });
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(0), image.bytes[..image.next].iter().copied());
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&memories).section(&exports).section(&code).section(&data);
    module
}

fn body(result: Option<Core>, answer: usize, ending: usize) -> wasm_encoder::Function {
    let mut function = wasm_encoder::Function::new([]);
    let mut code = function.instructions();
    let answer = i32::try_from(answer).unwrap_or_default();
    match (ending, result) {
        (10, _) => drop(code.unreachable()),
        // Beyond the end of memory.
        (11, Some(Core::I32)) => drop(code.i32_const(-4)),
        (_, Some(Core::I32)) => drop(code.i32_const(answer)),
        (_, Some(Core::I64)) => drop(code.i64_const(answer.into())),
        (_, Some(Core::F32)) => drop(code.f32_const(0.0.into())),
        (_, Some(Core::F64)) => drop(code.f64_const(0.0.into())),
        (_, None) => {}
    }
    code.end();
    function
}

const fn value(core: Core) -> ValType {
    match core {
        Core::I32 => ValType::I32,
        Core::I64 => ValType::I64,
        Core::F32 => ValType::F32,
        Core::F64 => ValType::F64,
    }
}

/// A memory as it is before the first call.
struct Image {
    bytes: Vec<u8>,
    next: usize,
}

impl Image {
    /// Writes an answer of this type somewhere.
    fn answer(&mut self, ty: &Ty, maker: &mut Maker<'_>) -> usize {
        let (size, align) = ty.layout();
        let Some(at) = self.room(size, align) else { return BEGIN };
        self.write(ty, at, maker);
        at
    }

    fn room(&mut self, size: usize, align: usize) -> Option<usize> {
        let at = up(self.next, align);
        let end = at.checked_add(size).filter(|end| *end <= self.bytes.len())?;
        self.next = end;
        Some(at)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn write(&mut self, ty: &Ty, at: usize, maker: &mut Maker<'_>) {
        match ty {
            Ty::Plain("string") => {
                let text = if maker.once_in(3) { maker.text() } else { "a.example".to_owned() };
                self.list(at, text.len(), 1, text.len(), |image, begin| image.put(begin, text.as_bytes()));
            }
            Ty::Plain(_) => {
                let number = if maker.once_in(3) { maker.number() } else { 1 };
                self.put(at, &number.to_le_bytes()[..ty.layout().0]);
            }
            Ty::List(inner) => {
                let (size, align) = inner.layout();
                let count = maker.below(3);
                self.list(at, size * count, align, count, |image, begin| {
                    (0..count).for_each(|number| image.write(inner, begin + size * number, maker));
                });
            }
            Ty::Record(_) | Ty::Tuple(_) => {
                ty.fields().into_iter().fold(at, |at, field| {
                    let (size, align) = field.layout();
                    let at = up(at, align);
                    self.write(field, at, maker);
                    at + size
                });
            }
            _ => {
                // Sometimes a case that there is not.
                let case = if maker.once_in(4) { maker.below(ty.count() + 1) } else { 0 };
                self.put(at, &[u8::try_from(case).unwrap_or_default()]);
                if let Some(inner) = ty.case(case) {
                    self.write(inner, at + ty.payload(), maker);
                }
            }
        }
    }

    /// A pointer to so many bytes, and a length.
    fn list(&mut self, at: usize, size: usize, align: usize, length: usize, fill: impl FnOnce(&mut Self, usize)) {
        let Some(begin) = self.room(size, align) else { return };
        self.put(at, &u32::try_from(begin).unwrap_or_default().to_le_bytes());
        self.put(at + 4, &u32::try_from(length).unwrap_or_default().to_le_bytes());
        fill(self, begin);
    }
}
