//! A kernel that cannot say which pages a guest has written (before 6.7), as the engine sees it: the request is refused.

use anyhow::Result;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// `PAGEMAP_SCAN`, by its number.
const SCAN: u64 = 0xc060_6610;

/// From now on, and for all threads that this one starts.
pub(crate) fn kernel() -> Result<()> {
    let scans = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, SCAN)?;
    let rules = [(libc::SYS_ioctl, vec![SeccompRule::new(vec![scans])?])].into();
    let refuse = SeccompAction::Errno(libc::ENOTTY.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?;
    Ok(seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?)
}
