//! Speaking to the array: requests with a token, answers as values, and what to do without one.
//!
//! It owns the discipline of outcomes: after a lost answer the array is read before anything is sent
//! again, and what stays unknown is never called done or failed. It knows no CSI.

mod session;
mod wire;

pub(crate) use session::{Login, hex};
pub(crate) use wire::*;

use std::cell::RefCell;
use std::time::Duration;

use drivebay_sdk::{Error, Reason};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::{self, Backend};
use crate::transport::{self, Request, Silence};

/// The longest that one request waits.
const LONGEST: Duration = Duration::from_secs(30);

/// How often something is sent again when its outcome stays unknown after a look.
const AGAIN: u32 = 2;

/// How often a call logs in anew.
const RENEWALS: u32 = 8;

/// Between two looks at a job; doubled each time up to half a second.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Why the array did not do it.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// It said so, and nothing was done.
    Refused(Refusal),
    /// Nothing was sent.
    NotSent(String),
    /// Not known whether it was done.
    Unknown(String),
    /// Found out here, before or after asking.
    Own(Error),
}

impl Failure {
    /// Whether the array refused with this code.
    pub(crate) fn is(&self, code: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

/// What a request comes to.
pub(crate) type Answer<T> = Result<T, Failure>;

/// The array during a call.
pub(crate) struct Array<'a> {
    backend: &'a Backend,
    login: Login,
    token: RefCell<Option<String>>,
}

impl Array<'_> {
    /// Reads. As reading changes nothing, it is tried again at once.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Answer<T> {
        match self.send::<(), T>("GET", path, None) {
            Err(Failure::Unknown(_)) => self.send::<(), T>("GET", path, None),
            answer => answer,
        }
    }

    /// Reads what may not be there.
    pub(crate) fn find<T: DeserializeOwned>(&self, path: &str) -> Answer<Option<T>> {
        match self.get(path) {
            Ok(found) => Ok(Some(found)),
            Err(failure) if failure.is("not-found") => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The object of a kind that has this name, if there is one.
    pub(crate) fn named<T: DeserializeOwned>(&self, kind: &str, name: &str) -> Answer<Option<T>> {
        let page: Page<T> = self.get(&format!("/v1/{kind}?name={}", escape(name)))?;
        Ok(page.entries.into_iter().next())
    }

    /// Sends one request.
    pub(crate) fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&B>,
    ) -> Answer<T> {
        let body = body.map(serde_json::to_vec).transpose().map_err(|error| Error::unavailable(error.to_string()))?;
        for _ in 0..RENEWALS {
            match self.exchange(method, path, body.clone()) {
                // Nothing was done, so it can be sent again. Calls share tokens, so another one's may end, too.
                Err(failure) if failure.is("token-expired") && self.renew()? => {}
                answer => return answer,
            }
        }
        Err(Error::unavailable("the array ends every token at once").into())
    }

    fn exchange<T: DeserializeOwned>(&self, method: &'static str, path: &str, body: Option<Vec<u8>>) -> Answer<T> {
        let token = self.token.borrow().clone();
        let bytes = self.backend.ask(method, path, body, token.as_deref())?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::Unknown(format!("an answer that nobody understands: {error}")))
    }

    /// Changes something. `look` tells, by reading, whether it is as wished by now; it is asked after
    /// every answer that was lost, before anything is sent again.
    pub(crate) fn settle<T>(
        &self,
        send: impl Fn(&Self) -> Answer<T>,
        look: impl Fn() -> Answer<Option<T>>,
    ) -> Answer<T> {
        let mut answer = send(self);
        for _ in 0..AGAIN {
            let Err(Failure::Unknown(_)) = &answer else {
                break;
            };
            answer = match look()? {
                Some(found) => Ok(found),
                None => send(self),
            };
        }
        match answer {
            Err(Failure::Unknown(why)) => look()?.ok_or(Failure::Unknown(why)),
            answer => answer,
        }
    }

    /// Waits until a job has ended, as long as the call has time.
    pub(crate) fn await_job(&self, job: Option<&str>, what: &str) -> Answer<()> {
        let Some(job) = job else {
            return Ok(());
        };
        let mut pause = FIRST_PAUSE;
        loop {
            let found: Option<Job> = self.find(&format!("/v1/jobs/{}", escape(job)))?;
            match found.map(|job| (job.state, job.message)) {
                // Ended jobs are forgotten after a while; the caller looks at the object next.
                None => return Ok(()),
                Some((state, _)) if state == "done" => return Ok(()),
                Some((state, message)) if state == "failed" => {
                    return Err(Error::unavailable(format!(
                        "making {what} has failed and can be tried again: {message}"
                    ))
                    .into());
                }
                Some(_) => {}
            }
            if backend::has_no_time_for(pause) {
                let words = format!("{what} is being made; repeat the request");
                return Err(Error::unavailable(words).with_reason(Reason::Busy).into());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }
}

impl Backend {
    /// One exchange with the array: the body of a good answer, or why there is none.
    fn ask(&self, method: &'static str, path: &str, body: Option<Vec<u8>>, token: Option<&str>) -> Answer<Vec<u8>> {
        let wait = backend::patience().min(LONGEST);
        if wait.is_zero() {
            return Err(Failure::NotSent("the call has no time left".to_owned()));
        }
        // The array does not begin what its client has given up.
        let mut headers = vec![("request-timeout-ms", wait.as_millis().to_string())];
        if let Some(token) = token {
            headers.push(("authorization", format!("Bearer {token}")));
        }
        if body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let request = Request { method, url: format!("{}{path}", self.settings.url), headers, body, wait };
        let response = transport::send(&request).map_err(|silence| match silence {
            Silence::NotSent(why) => Failure::NotSent(why),
            Silence::Unknown(why) => Failure::Unknown(why),
        })?;
        if (200..300).contains(&response.status) {
            return Ok(response.body);
        }
        match serde_json::from_slice::<Refusal>(&response.body) {
            Ok(refusal) if refusal.code != "internal" => Err(Failure::Refused(refusal)),
            _ => Err(Failure::Unknown(format!("the array answered {}", response.status))),
        }
    }
}

/// A word as part of a path or a query.
pub(crate) fn escape(word: &str) -> String {
    use std::fmt::Write as _;
    word.bytes().fold(String::with_capacity(word.len()), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // A string takes everything.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}
