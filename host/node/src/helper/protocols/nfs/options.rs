//! The words that `mount.nfs` is told.
//!
//! Owns how a plan is written down; what is let through, `options` says.

use rustix::mount::MountAttrFlags;

use super::super::super::options::MountPlan;

/// What the mount itself is told, and its word.
const ATTRIBUTES: [(MountAttrFlags, &str); 6] = [
    (MountAttrFlags::MOUNT_ATTR_NOSUID, "nosuid"),
    (MountAttrFlags::MOUNT_ATTR_NODEV, "nodev"),
    (MountAttrFlags::MOUNT_ATTR_NOEXEC, "noexec"),
    (MountAttrFlags::MOUNT_ATTR_NOATIME, "noatime"),
    (MountAttrFlags::MOUNT_ATTR_NODIRATIME, "nodiratime"),
    (MountAttrFlags::MOUNT_ATTR_STRICTATIME, "strictatime"),
];

/// One word an option. The program itself does not retry: the caller does.
pub(super) fn words(plan: &MountPlan) -> Vec<String> {
    let attributes = ATTRIBUTES.iter().filter(|(flag, _)| plan.attributes.contains(*flag));
    let parameters = plan.parameters.iter().map(|(name, value)| match value {
        // The only value that may hold commas.
        Some(value) if name == "context" => format!("{name}=\"{value}\""),
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    });
    let attributes = attributes.map(|(_, word)| (*word).to_owned());
    attributes.chain(parameters).chain(["retry=0".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::super::options::plan_share;
    use super::*;
    use crate::protocol::Access;

    #[test]
    fn a_plan_is_written_as_the_program_reads_it() {
        let written = |options: &[&str], access| {
            let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
            words(&plan_share(&options, access, &[]).unwrap()).join(",")
        };
        assert_eq!(written(&[], Access::ReadWrite), "nosuid,nodev,retry=0");
        assert_eq!(
            written(&["nfsvers=4.1,hard", "noatime", "rsize=1048576"], Access::ReadOnly),
            "nosuid,nodev,noatime,nfsvers=4.1,hard,rsize=1048576,ro,retry=0"
        );
        assert_eq!(
            written(&["context=\"system_u:object_r:container_file_t:s0:c1,c2\"", "soft"], Access::ReadWrite),
            "nosuid,nodev,context=\"system_u:object_r:container_file_t:s0:c1,c2\",soft,retry=0"
        );
    }
}
