//! Killing the driver by a command of the caller's, as a power failure would, and waiting until it is back. Owns no rule:
//! what must hold afterwards is for its caller to say.

use std::process::{Command, Stdio};

use super::{Stop, Trial};
use crate::ending::are_back;

impl Trial<'_> {
    /// Kills the driver, which is started again by the same command or by a supervisor.
    pub(crate) async fn kill(self) -> Result<(), Stop> {
        let Some(kill) = &self.with().kill else {
            return Err(Stop::Skip("--with gives no kill".to_owned()));
        };
        let mut shell = Command::new("sh");
        shell.args(["-c", kill]).stdin(Stdio::null()).stdout(Stdio::null());
        if !shell.status().is_ok_and(|status| status.success()) {
            return Err(Stop::Blocked(format!("kill fails: {kill}"), None));
        }
        if are_back(&self.run_context.sites, &self.run_context.with).await {
            return Ok(());
        }
        Err(Stop::Fail("the driver does not answer again after it was killed and started".to_owned(), None))
    }
}
