//! The gRPC side: compiles the .proto files and reads what the bridge needs of their descriptors.
//!
//! It knows nothing of WIT. No protoc is involved, so that a checkout and cargo are enough to build.

use std::path::{Path, PathBuf};

use anyhow::Result;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, OneofDescriptor,
};

/// The compiled .proto files.
pub(crate) struct Proto {
    pub(crate) pool: DescriptorPool,
    /// With comments, for the Rust code.
    pub(crate) commented: prost_types::FileDescriptorSet,
    /// Without comments but with all options, for gRPC reflection.
    pub(crate) encoded: Vec<u8>,
    pub(crate) files: Vec<PathBuf>,
}

impl Proto {
    /// Compiles every .proto file under a directory, but those of the project's own services.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut files = crate::files_below(root, "proto")?;
        files.retain(|file| !file.starts_with(root.join(crate::OWN)));
        let mut compiler = protox::Compiler::new([root])?;
        compiler.include_imports(true).include_source_info(true);
        compiler.open_files(&files)?;
        let commented = compiler.file_descriptor_set();
        compiler.include_source_info(false);
        Ok(Self { pool: compiler.descriptor_pool(), commented, encoded: compiler.encode_file_descriptor_set(), files })
    }

    /// Whether an RPC is experimental, by its own mark or its service's.
    pub(crate) fn is_alpha(&self, method: &MethodDescriptor) -> bool {
        self.is_marked(&method.options(), "csi.v1.alpha_method")
            || self.is_marked(&method.parent_service().options(), "csi.v1.alpha_service")
    }

    /// Whether a field may never be shown: marked so, or called `secrets`.
    pub(crate) fn is_secret(&self, field: &FieldDescriptor) -> bool {
        field.name() == "secrets" || self.is_marked(&field.options(), "csi.v1.csi_secret")
    }

    fn is_marked(&self, options: &DynamicMessage, extension: &str) -> bool {
        let extension = self.pool.get_extension_by_name(extension);
        extension.is_some_and(|mark| options.get_extension(&mark).as_bool() == Some(true))
    }

    /// All messages of the project's own packages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = MessageDescriptor> {
        let messages = self.pool.all_messages();
        messages.filter(|message| message.package_name() != "google.protobuf" && !message.is_map_entry())
    }
}

/// What a message holds at its top: plain fields and, as one each, its oneofs.
#[derive(Clone)]
pub(crate) enum Slot {
    Field(FieldDescriptor),
    OneOf(OneofDescriptor),
}

impl Slot {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Field(field) => field.name(),
            Self::OneOf(oneof) => oneof.name(),
        }
    }

    pub(crate) fn full_name(&self) -> &str {
        match self {
            Self::Field(field) => field.full_name(),
            Self::OneOf(oneof) => oneof.full_name(),
        }
    }
}

/// The slots of a message in the order of their numbers.
pub(crate) fn slots(message: &MessageDescriptor) -> Vec<Slot> {
    let mut slots = Vec::new();
    for field in message.fields() {
        match field.containing_oneof() {
            None => slots.push(Slot::Field(field)),
            Some(oneof) if oneof.fields().any(|first| first.number() < field.number()) => {}
            Some(oneof) => slots.push(Slot::OneOf(oneof)),
        }
    }
    slots
}

/// The message that a field holds, alone or repeated; none for maps and scalars.
pub(crate) fn held_message(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    match field.kind() {
        Kind::Message(message) if !field.is_map() => Some(message),
        _ => None,
    }
}
