//! `csi.v1.SnapshotMetadata`: two streams. The guest answers pages; a detached task asks for them one
//! by one and checks that they make one stream. Locks and lease live as long as the stream.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status};
use tracing::Instrument;

use super::Rpc;
use super::enter::{self, Permit};
use super::front::Front;
use super::pipeline;
use super::premise::Premise;
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_backend::{Backend, call_id};
use drivebay_contract::check::{BlockPage, MetadataStream};
use drivebay_contract::{Call, Page};
use drivebay_error::CallError;
use drivebay_error::status::{self, Family};
use drivebay_observe::drill::{self, Defence};
use drivebay_policy::limits::CallKind;
use drivebay_proto::pb::csi::v1::{self, snapshot_metadata_server};
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::lane::Movable;

/// Blocks of one page, unless the client wants fewer: 10,000 of them are a message of 200 KB.
const PAGE_BLOCKS: i32 = 10_000;
/// Pages that wait for a slow client.
const WAITING_PAGES: usize = 4;

/// The messages of a stream.
type Messages<M> = Pin<Box<dyn Stream<Item = Result<M, Status>> + Send>>;

/// A request that is answered page by page.
trait Paged: Rpc + Call<Answer = Page<Self::Message>> {
    /// One message of the stream.
    type Message: Send + 'static;

    /// Where the client wants to start, and how many blocks a message may have (0: any number).
    fn wish(&self) -> (i64, i32);

    /// The same request for the page that starts at `offset`.
    fn at(&self, offset: i64, blocks: i32) -> Self;

    /// What the checks look at.
    fn blocks(message: &Self::Message) -> BlockPage<'_>;
}

/// Both requests have the same shape in different fields.
macro_rules! paged {
    ($request:ident => $response:ident, |$r:ident| $locks:expr) => {
        impl Premise for v1::$request {}

        impl Rpc for v1::$request {
            fn locks(&self) -> LockSet {
                let $r = self;
                $locks
            }
        }

        impl Paged for v1::$request {
            type Message = v1::$response;

            fn wish(&self) -> (i64, i32) {
                (self.starting_offset, self.max_results)
            }

            fn at(&self, offset: i64, blocks: i32) -> Self {
                Self { starting_offset: offset, max_results: blocks, ..self.clone() }
            }

            fn blocks(message: &v1::$response) -> BlockPage<'_> {
                message.into()
            }
        }
    };
}

paged!(GetMetadataAllocatedRequest => GetMetadataAllocatedResponse, |r| LockSet::none()
    .shared(ObjectKind::Snapshot, &r.snapshot_id));
paged!(GetMetadataDeltaRequest => GetMetadataDeltaResponse, |r| LockSet::none()
    .shared(ObjectKind::Snapshot, &r.base_snapshot_id)
    .shared(ObjectKind::Snapshot, &r.target_snapshot_id));

#[tonic::async_trait]
impl snapshot_metadata_server::SnapshotMetadata for Front {
    type GetMetadataAllocatedStream = Messages<v1::GetMetadataAllocatedResponse>;
    type GetMetadataDeltaStream = Messages<v1::GetMetadataDeltaResponse>;

    async fn get_metadata_allocated(
        &self,
        request: Request<v1::GetMetadataAllocatedRequest>,
    ) -> Result<Response<Self::GetMetadataAllocatedStream>, Status> {
        stream(self, request.into_inner()).await
    }

    async fn get_metadata_delta(
        &self,
        request: Request<v1::GetMetadataDeltaRequest>,
    ) -> Result<Response<Self::GetMetadataDeltaStream>, Status> {
        stream(self, request.into_inner()).await
    }
}

async fn stream<R: Paged>(front: &Front, request: R) -> Result<Response<Messages<R::Message>>, Status> {
    let (id, arrived) = (call_id::next(), Instant::now());
    let span = tracing::debug_span!("call", rpc = R::METHOD.name(), call = id);
    let admitted = pipeline::admit(front, &request, id.clone()).instrument(span.clone()).await;
    let permit = admitted.map_err(|error| {
        pipeline::report(
            pipeline::Origin { backend: &front.backend, method: R::METHOD, call: &id },
            Family::Reading,
            &error,
        )
    });
    let permit = permit.inspect_err(|error| {
        front.backend.answered(R::METHOD, status::word(error.code()), arrived.elapsed());
    })?;
    let (send, receive) = mpsc::channel(WAITING_PAGES);
    let owner = Arc::clone(&front.backend);
    let pump = Movable::new(&front.backend.lane, pump(owner, permit, request, send, arrived).instrument(span));
    front.backend.detach(pump);
    Ok(Response::new(Box::pin(ReceiverStream::new(receive))))
}

/// Sends all pages, or the failure that ended the stream. A client that goes away ends it.
async fn pump<R: Paged>(
    backend: Arc<Backend>,
    permit: Permit,
    request: R,
    send: mpsc::Sender<Result<R::Message, Status>>,
    arrived: Instant,
) {
    let ended = pages(&permit, request, &send).await;
    backend.ended(&permit.lease, ended.as_ref().err());
    let mut code = Code::Ok;
    if let Err(error) = ended {
        let family = status::family(R::METHOD);
        let origin = pipeline::Origin { backend: &backend, method: R::METHOD, call: &permit.context.id };
        let status = pipeline::report(origin, family, &error);
        code = status.code();
        // The client may have gone away; then there is nobody to tell.
        let _ = send.send(Err(status)).await;
    }
    backend.answered(R::METHOD, status::word(code), arrived.elapsed());
    permit.context.settled().await;
}

async fn pages<R: Paged>(
    permit: &Permit,
    request: R,
    send: &mpsc::Sender<Result<R::Message, Status>>,
) -> Result<(), CallError> {
    let (mut offset, wish) = request.wish();
    let blocks = if wish > 0 { wish.min(PAGE_BLOCKS) } else { PAGE_BLOCKS };
    let mut checks = MetadataStream::new(offset, blocks);
    let mut live = permit.lease.enter(&permit.context).await?;
    loop {
        let request = request.at(offset, blocks);
        let page = enter::invoke(&permit.lease, &permit.context, &mut live, request).await?.answer;
        if drill::stands(Defence::Contract) {
            checks.page(R::blocks(&page.message), page.next)?;
        }
        if send.send(Ok(page.message)).await.is_err() {
            break;
        }
        let Some(next) = page.next else { break };
        // Checked just now to lie within the volume.
        offset = i64::try_from(next).unwrap_or(i64::MAX);
        live.begin(&next_page(permit));
    }
    permit.lease.leave(live);
    Ok(())
}

/// Each page has the time of a call of its own: a stream may be long, a page may not.
fn next_page(permit: &Permit) -> Arc<CallContext> {
    let wall = permit.lease.around.limits.wall.of(CallKind::Read);
    let page = CallContext::new(permit.context.id.clone(), permit.context.operation, CallKind::Read, wall);
    Arc::new(page.with(permit.context.secrets.clone(), Vec::new()))
}
