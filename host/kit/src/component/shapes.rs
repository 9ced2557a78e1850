//! One type for each shape. Pure: a change of what was parsed that says the same.
//!
//! `option<string>` is a type of its own in each package that writes it. The C generator (wit-bindgen-c 0.61) gives all of
//! them one name, and remembers for the first alone that it has something to free: what is freed leaves its optional
//! texts and the pairs of its maps behind, in every call of an instance that is used again. Sharing the first type among
//! the packages is what the parser does within each, so the generator meets nothing new.

use std::collections::{HashMap, HashSet};

use wit_bindgen_core::wit_parser::{Function, Resolve, Type, TypeDefKind, TypeId, WorldItem};

/// Lets every type without a name that is made of plain values alone be the first one of its shape.
pub(super) fn share(resolve: &mut Resolve) {
    let mut shapes = Shapes::default();
    // Parts come before what is made of them.
    let ids: Vec<TypeId> = resolve.types.iter().map(|(id, _)| id).collect();
    for id in ids {
        let Some(defined) = resolve.types.get_mut(id) else { continue };
        shapes.redirect_parts(&mut defined.kind);
        if defined.name.is_none() && shapes.is_plain(&defined.kind) {
            shapes.meet(id, &defined.kind);
        }
    }
    for (_, interface) in &mut resolve.interfaces {
        interface.functions.values_mut().for_each(|function| shapes.redirect_function(function));
    }
    for (_, world) in &mut resolve.worlds {
        for item in world.imports.values_mut().chain(world.exports.values_mut()) {
            if let WorldItem::Function(function) = item {
                shapes.redirect_function(function);
            }
        }
    }
}

/// The shapes that were met.
#[derive(Debug, Default)]
struct Shapes {
    first: HashMap<TypeDefKind, TypeId>,
    plain: HashSet<TypeId>,
    instead: HashMap<TypeId, TypeId>,
}

impl Shapes {
    fn meet(&mut self, id: TypeId, kind: &TypeDefKind) {
        if let Some(first) = self.first.get(kind) {
            self.instead.insert(id, *first);
        } else {
            self.first.insert(kind.clone(), id);
            self.plain.insert(id);
        }
    }

    /// Whether it is made of plain values alone; asked once its parts are redirected.
    fn is_plain(&self, kind: &TypeDefKind) -> bool {
        let is_plain = |part: &Type| !matches!(part, Type::Id(id) if !self.plain.contains(id));
        match kind {
            TypeDefKind::Tuple(tuple) => tuple.types.iter().all(is_plain),
            TypeDefKind::Option(part) | TypeDefKind::List(part) => is_plain(part),
            TypeDefKind::Result(result) => result.ok.iter().chain(&result.err).all(is_plain),
            _ => false,
        }
    }

    fn redirect_parts(&self, kind: &mut TypeDefKind) {
        match kind {
            TypeDefKind::Record(record) => record.fields.iter_mut().for_each(|field| self.redirect(&mut field.ty)),
            TypeDefKind::Variant(variant) => {
                variant.cases.iter_mut().filter_map(|case| case.ty.as_mut()).for_each(|part| self.redirect(part));
            }
            TypeDefKind::Tuple(tuple) => tuple.types.iter_mut().for_each(|part| self.redirect(part)),
            TypeDefKind::Result(result) => {
                result.ok.iter_mut().chain(&mut result.err).for_each(|part| self.redirect(part));
            }
            TypeDefKind::Option(part) | TypeDefKind::List(part) | TypeDefKind::Type(part) => self.redirect(part),
            _ => {}
        }
    }

    fn redirect_function(&self, function: &mut Function) {
        let parameters = function.params.iter_mut().map(|parameter| &mut parameter.ty);
        parameters.chain(&mut function.result).for_each(|part| self.redirect(part));
    }

    fn redirect(&self, part: &mut Type) {
        if let Type::Id(id) = part
            && let Some(first) = self.instead.get(id)
        {
            *id = *first;
        }
    }
}
