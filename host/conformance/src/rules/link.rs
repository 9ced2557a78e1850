//! Two sites that do not hear each other. The suite cuts what is between them by a command of the caller, and mends it
//! again whatever happens meanwhile.

use std::process::{Command, Stdio};
use std::time::Duration;

use tonic::Code;

use super::ask::{AGAIN, Ask};
use super::replication::resynced;
use super::rules;
use super::sites::pair;
use crate::trial::{Outcome, Pause, Stop, Trial};

rules! {;
    alone: "R-22b" => goes_on_alone, "R-29b" => not_ready_in_silence, "R-29c" => ready_when_heard,
}

/// How long a site is asked whether it takes itself to be ready although it hears nothing.
const SILENCE: Duration = Duration::from_secs(3);

/// The sites hear nothing of each other as long as this is there.
struct Cut<'r>(&'r str);

impl<'r> Cut<'r> {
    fn new(t: Trial<'r>) -> Result<Self, Stop> {
        let known = &t.with().replication;
        let (Some(cut), Some(mend)) = (&known.cut, &known.mend) else {
            return Err(Stop::Blocked("nobody said how to cut the sites off".to_owned(), None));
        };
        // Made first, so that what a command has done in part is undone as well.
        let guard = Self(mend);
        if shell(cut) { Ok(guard) } else { Err(Stop::Blocked(format!("replication.cut fails: {cut}"), None)) }
    }

    /// The sites hear each other again.
    fn mend(self) -> Outcome {
        let mend = self.0;
        std::mem::forget(self);
        if shell(mend) { Ok(()) } else { Err(Stop::Blocked(format!("replication.mend fails: {mend}"), None)) }
    }
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        shell(self.0);
    }
}

/// Runs a short command of the caller's; its output would be among the report's.
fn shell(command: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

/// Skips unless the caller said how to cut the sites off.
fn needs_cut(t: Trial<'_>) -> Outcome {
    let known = &t.with().replication;
    if known.cut.is_some() && known.mend.is_some() {
        return Ok(());
    }
    Err(Stop::Skip("--with gives no replication.cut and replication.mend".to_owned()))
}

/// A pair whose copy is whole, so that it can be promoted when nothing comes any more.
async fn whole_pair(t: Trial<'_>) -> Result<(Ask, Ask), Stop> {
    needs_cut(t)?;
    let (here, copy) = pair(t).await?;
    let told = t.patient(here.info(), &[Code::NotFound, Code::Aborted, Code::Unavailable]).await;
    if told.is_ok() {
        return Ok((here, copy));
    }
    Err(Stop::Skip("no transfer was told to be complete within the patience".to_owned()))
}

/// Both sides are primary: B by force, while nothing is heard of A.
async fn split(t: Trial<'_>) -> Result<(Ask, Cut<'_>), Stop> {
    let (here, copy) = whole_pair(t).await?;
    let cut = Cut::new(t)?;
    t.b().patient(copy.forced().promote(), AGAIN).await.given()?;
    Ok((here, cut))
}

async fn goes_on_alone(t: Trial<'_>) -> Outcome {
    let (_, copy) = whole_pair(t).await?;
    let cut = Cut::new(t)?;
    t.patient(t.new_volume(), AGAIN).await.ok()?;
    t.b().patient(copy.forced().promote(), AGAIN).await.ok()?;
    cut.mend()
}

/// Asks a site that was demoted in silence again and again whether it is ready.
async fn asked_in_silence(t: Trial<'_>, here: &Ask) -> Outcome {
    t.patient(here.demote(), AGAIN).await.given()?;
    let mut pause = Pause::new(SILENCE.min(t.with().patience));
    loop {
        let answer = t.call(here.resync()).await;
        if answer.reply().is_some_and(|it| it.ready) {
            return Err(answer.fail("Resync answers ready=true although its peer, which was promoted, is not heard"));
        }
        if !pause.rest().await {
            return Ok(());
        }
    }
}

async fn not_ready_in_silence(t: Trial<'_>) -> Outcome {
    let (here, cut) = split(t).await?;
    asked_in_silence(t, &here).await?;
    cut.mend()
}

async fn ready_when_heard(t: Trial<'_>) -> Outcome {
    let (here, cut) = split(t).await?;
    t.patient(here.demote(), AGAIN).await.given()?;
    t.call(here.resync()).await;
    cut.mend()?;
    resynced(t, &here).await
}
