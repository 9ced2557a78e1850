//! Plans of components written down as bytes. Owns the numbering of what is in a component; a plan that makes no sense
//! becomes a file that makes none.

use std::collections::BTreeMap;

use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentImportSection, ComponentInstanceSection, ComponentTypeRef, ComponentTypeSection,
    ComponentValType, ExportKind, InstanceSection, ModuleArg, ModuleSection,
};

use crate::guest;
use crate::maker::Maker;
use crate::spelling;
use crate::types::{Function, Interface, Ty};

/// What a component is to be.
#[derive(Clone, Debug)]
pub struct Plan {
    pub exports: Vec<Export>,
    pub imports: Vec<Import>,
    /// How its functions end.
    pub ending: usize,
}

/// An interface under a name.
#[derive(Clone, Debug)]
pub struct Export {
    pub name: String,
    pub interface: Interface,
}

/// An interface that is wanted, or a function.
#[derive(Clone, Debug)]
pub struct Import {
    pub name: String,
    pub functions: Interface,
    pub is_function: bool,
}

#[derive(Default)]
struct Writer {
    component: Component,
    /// The next type of the component.
    types: u32,
    instances: u32,
    functions: u32,
    known: BTreeMap<Ty, ComponentValType>,
}

impl Plan {
    /// Its bytes; the guest's answers are made of what is left.
    pub fn encode(&self, maker: &mut Maker<'_>) -> Vec<u8> {
        let mut writer = Writer::default();
        for import in &self.imports {
            writer.import(import);
        }
        let functions: Vec<&Function> = self.exports.iter().flat_map(|export| export.interface.values()).collect();
        writer.component.section(&ModuleSection(&guest::module(&functions, self.ending, maker)));
        let mut instances = InstanceSection::new();
        instances.instantiate(0, std::iter::empty::<(&str, ModuleArg)>());
        writer.component.section(&instances);
        writer.core("memory", ExportKind::Memory);
        writer.core("realloc", ExportKind::Func);
        let mut at = 0;
        for export in &self.exports {
            at = writer.export(export, at);
        }
        writer.component.finish()
    }
}

impl Writer {
    fn import(&mut self, import: &Import) {
        let mut section = ComponentTypeSection::new();
        if import.is_function {
            spelling::function(section.function(), &[], None);
        } else {
            section.instance(&spelling::instance(&import.functions));
        }
        self.component.section(&section);
        let wanted = if import.is_function {
            self.functions += 1;
            ComponentTypeRef::Func(self.types)
        } else {
            self.instances += 1;
            ComponentTypeRef::Instance(self.types)
        };
        self.types += 1;
        let mut section = ComponentImportSection::new();
        section.import(import.name.as_str(), wanted);
        self.component.section(&section);
    }

    fn core(&mut self, name: &str, kind: ExportKind) {
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::CoreInstanceExport { instance: 0, kind, name });
        self.component.section(&aliases);
    }

    /// Lifts the functions of an interface, the first of which is the core's function of this number.
    fn export(&mut self, export: &Export, first: usize) -> usize {
        let mut lifted = Vec::new();
        let mut at = first;
        for (name, function) in &export.interface {
            let params: Vec<_> = function.params.iter().map(|param| self.value(param)).collect();
            let result = function.result.as_ref().map(|result| self.value(result));
            let mut section = ComponentTypeSection::new();
            spelling::function(section.function(), &params, result);
            self.component.section(&section);
            self.core(&guest::name(at), ExportKind::Func);
            at += 1;
            let mut section = CanonicalFunctionSection::new();
            let options = [CanonicalOption::UTF8, CanonicalOption::Memory(0), CanonicalOption::Realloc(0)];
            // The core's function 0 is what asks for memory.
            section.lift(u32::try_from(at).unwrap_or_default(), self.types, options);
            self.component.section(&section);
            self.types += 1;
            lifted.push((name.as_str(), ComponentExportKind::Func, self.functions));
            self.functions += 1;
        }
        let mut section = ComponentInstanceSection::new();
        section.export_items(lifted);
        self.component.section(&section);
        let mut section = ComponentExportSection::new();
        section.export(export.name.as_str(), ComponentExportKind::Instance, self.instances, None);
        self.component.section(&section);
        // The one that was made, and the one that was exported.
        self.instances += 2;
        at
    }

    /// A type for a value; what has names of its own is exported first, as the rules want it.
    fn value(&mut self, ty: &Ty) -> ComponentValType {
        if let Some(known) = self.known.get(ty) {
            return *known;
        }
        let value = if let Ty::Plain(name) = ty {
            ComponentValType::Primitive(spelling::primitive(name))
        } else {
            let parts =
                spelling::parts(ty).into_iter().map(|part| part.map(|part| self.value(part))).collect::<Vec<_>>();
            let mut section = ComponentTypeSection::new();
            spelling::define(section.defined_type(), ty, &parts);
            self.component.section(&section);
            self.types += 1;
            if spelling::is_named(ty) {
                let mut section = ComponentExportSection::new();
                section.export(format!("t{}", self.types).as_str(), ComponentExportKind::Type, self.types - 1, None);
                self.component.section(&section);
                self.types += 1;
            }
            ComponentValType::Type(self.types - 1)
        };
        self.known.insert(ty.clone(), value);
        value
    }
}
