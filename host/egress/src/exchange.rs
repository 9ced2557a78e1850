//! One request from the guest's hands to the head of its answer: decided, connected, sent, within its times. No
//! redirect is followed: what the other side says is an answer like any other.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use super::allowance::{Allowance, Bounds};
use super::audit::Record;
use super::connect::{Route, Unconnected};
use super::error::{DenyReason, EgressError, broken};
use super::policy::{Decision, Phase};
use super::pool::Checkout;
use super::progress::Progress;
use super::request_body::{RequestBody, Size, Witness, up};
use super::response_body::{ResponseBody, Times};
use super::{Egress, form};
use drivebay_observe::Secrets;
use drivebay_policy::grants::http::HttpLimits;

/// How long a guest wants to wait; none: as long as it may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GuestTimeouts {
    /// For a connection.
    pub connect: Option<Duration>,
    /// For the answer's head.
    pub head: Option<Duration>,
    /// Between two parts of its body.
    pub pause: Option<Duration>,
}

/// For whom a request is sent.
#[derive(Debug)]
pub struct RequestContext {
    /// The call's id.
    pub call: String,
    /// What no line of the log may show.
    pub secrets: Secrets,
    /// Whether the generation serves.
    pub phase: Phase,
    /// How long the guest wants to wait.
    pub timeouts: GuestTimeouts,
    /// When the call ends, and with it whatever it does.
    pub ends: Instant,
    /// What the call may still use.
    pub allowance: Arc<Allowance>,
    /// Whether the guest is still there.
    pub guest: Witness,
    /// Told when the request has its connection.
    pub progress: Progress,
}

impl Egress {
    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn send<B>(&self, request: Request<B>, ask: RequestContext) -> Result<Response<ResponseBody>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        let left = ask.allowance.request();
        let record = Arc::new(Record::new(&self.subject, &ask.call, request.method()));
        if left == 0 {
            record.refused(DenyReason::Number);
            return Err(EgressError::Refused(DenyReason::Number));
        }
        let decision = self.policy.decide(&request, ask.phase).map_err(|(why, target)| {
            if let Some(target) = target {
                record.goes_to(&target, &ask.secrets);
            }
            record.refused(why);
            EgressError::Refused(why)
        })?;
        record.goes_to(&decision.target, &ask.secrets);
        if let Some(why) = decision.reported {
            record.reported(why);
        }
        let sent = self.exchange(request, &decision, &ask, &record).await;
        sent.inspect_err(|error| record.failed(error))
    }

    async fn exchange<B>(
        &self,
        request: Request<B>,
        decision: &Decision,
        ask: &RequestContext,
        record: &Arc<Record>,
    ) -> Result<Response<ResponseBody>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        let bounds = || Bounds { allowance: Arc::clone(&ask.allowance), record: Arc::clone(record) };
        let times = Timeouts::new(&self.limits, ask);
        let (head, body) = request.into_parts();
        let said = form::content_length(&head.headers).flatten();
        let (body, sent) = up(body, Size { limit: self.limits.request, said }, bounds(), ask.guest.clone());
        let request = outgoing(head, body, decision)?;
        let (answer, mut checkout) = self.converse(request, decision, times, (record, &ask.progress)).await?;
        checkout.sent = sent;
        record.answered(answer.status().as_u16());
        let (head, body) = answer.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(EgressError::Upgrade);
        }
        if body.size_hint().lower() > self.limits.response {
            return Err(EgressError::ResponseSize);
        }
        let times = Times { pause: times.pause, ends: ask.ends };
        Ok(Response::from_parts(head, ResponseBody::new(body, self.limits.response, bounds(), times, checkout)))
    }

    /// Sends on a connection that waits, or on a new one. What was not sent, because a connection that waited had
    /// been closed meanwhile, is sent on the next.
    async fn converse(
        &self,
        mut request: Request<RequestBody>,
        decision: &Decision,
        waits: Timeouts,
        (record, progress): (&Record, &Progress),
    ) -> Result<(Response<Incoming>, Checkout), EgressError> {
        let route = Route { grant: decision.grant, target: decision.target.clone() };
        loop {
            let made = self.pool.check_out(&route, || self.policy.reach(decision), waits.connected, progress).await;
            let mut checkout = made.map_err(|failed| note(failed, record))?;
            let pinned = checkout.connection.pinned;
            record.reached(pinned.address);
            if pinned.reported {
                record.reported(DenyReason::Address);
            }
            let head = (Instant::now() + waits.head).min(waits.ends);
            let sending = checkout.connection.sender.try_send_request(request);
            progress.connected();
            match timeout_at(head, sending).await {
                Err(_) => return Err(EgressError::Time),
                Ok(Ok(answer)) => return Ok((answer, checkout)),
                Ok(Err(mut failed)) => match failed.take_message() {
                    Some(unsent) if checkout.is_used => request = unsent,
                    _ => return Err(broken(failed.error())),
                },
            }
        }
    }
}

/// The times of one request: what the operator allows, what the guest wants, what is left of the call.
#[derive(Debug, Clone, Copy)]
struct Timeouts {
    connected: Instant,
    head: Duration,
    pause: Duration,
    ends: Instant,
}

impl Timeouts {
    fn new(limits: &HttpLimits, ask: &RequestContext) -> Self {
        let at_most = |most: Duration, wanted: Option<Duration>| wanted.map_or(most, |wanted| most.min(wanted));
        let connect = at_most(limits.connect_time, ask.timeouts.connect);
        Self {
            connected: (Instant::now() + connect).min(ask.ends),
            head: at_most(limits.time, ask.timeouts.head),
            pause: at_most(limits.time, ask.timeouts.pause),
            ends: ask.ends,
        }
    }
}

/// The request as it goes out: a path, and the host of the grant.
fn outgoing(mut head: Parts, body: RequestBody, decision: &Decision) -> Result<Request<RequestBody>, EgressError> {
    let path = form::path(&head.uri).ok_or(EgressError::Refused(DenyReason::Form))?;
    head.uri = path.parse().map_err(|_| EgressError::Refused(DenyReason::Form))?;
    head.version = Version::HTTP_11;
    head.headers = form::headers(head.headers, &decision.target);
    Ok(Request::from_parts(head, body))
}

/// Takes note of the address of a connection that was not made.
fn note(failed: Unconnected, record: &Record) -> EgressError {
    if let Some(address) = failed.address {
        record.reached(address);
    }
    if let EgressError::Address(_) = failed.error {
        record.refused(DenyReason::Address);
    }
    failed.error
}
