//! The service: one function an RPC.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::Backends;
use super::sent::Upload;
use super::{answer, digest, recording};
use drivebay_backend::gate::{Refusal, RefusalId};
use drivebay_backend::lifecycle::{Force, Intake, Rollout};
use drivebay_backend::{Backend, Command, Control, Wait};
use drivebay_error::status;
use drivebay_proto::admin::{
    CommandResponse, DrainRequest, GetHistoryRequest, GetHistoryResponse, GetStatusRequest, GetStatusResponse,
    PinRequest, RecordRequest, ReloadRequest, RollbackRequest, StopRequest, admin_server::Admin,
};

/// The service over the host's backends.
pub(super) struct Api {
    pub(super) backends: Arc<dyn Backends>,
    /// The host ends: what would go on without end ends, too.
    pub(super) end: CancellationToken,
}

impl Api {
    fn find(&self, name: &str) -> Result<(Arc<Backend>, Control), Status> {
        let all = self.backends.all();
        let names: Vec<_> = all.iter().map(|(backend, _)| backend.name.clone()).collect();
        let found = all.into_iter().find(|(backend, _)| backend.name == name);
        found.ok_or_else(|| status::unknown_backend(name, &names))
    }

    async fn command(&self, name: &str, command: Command) -> Result<Response<CommandResponse>, Status> {
        let (_, control) = self.find(name)?;
        Ok(Response::new(answer::command(control.ask(command).await)))
    }

    /// The file that is to be loaded: the one with this path, which is followed, where the host sees what was sent there or
    /// nothing was sent; otherwise one with what was sent.
    async fn file(&self, backend: &Backend, named: PathBuf, sent: Option<Upload>) -> Result<PathBuf, Refusal> {
        let Some(sent) = sent else { return Ok(named) };
        let failed = |words: String| Refusal::new(RefusalId::Unreadable, format!("what was sent: {words}"));
        let place = self.backends.place_for_sent().ok_or_else(|| failed("this host keeps nothing".to_owned()))?;
        let (name, path) = (backend.name.clone(), named.clone());
        let file =
            tokio::task::spawn_blocking(move || if sent.is_at(&path) { Ok(path) } else { sent.keep(&place, &name) });
        let file = file.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
        if file != named {
            tracing::info!(backend = backend.name, from = %named.display(), file = %file.display(), "a component was sent");
        }
        Ok(file)
    }
}

const fn force(force: bool) -> Force {
    if force { Force::Yes } else { Force::No }
}

#[tonic::async_trait]
impl Admin for Api {
    async fn get_status(&self, request: Request<GetStatusRequest>) -> Result<Response<GetStatusResponse>, Status> {
        let names = request.into_inner().names;
        for name in &names {
            self.find(name)?;
        }
        let all = self.backends.all().into_iter().map(|(backend, _)| backend);
        let wanted = all.filter(|backend| names.is_empty() || names.contains(&backend.name));
        let mut backends = Vec::new();
        for backend in wanted {
            let absent = match backend.generation() {
                Some(generation) => generation.absent_directories().await,
                None => Vec::new(),
            };
            backends.push(answer::backend(&backend, &absent));
        }
        let confinement =
            self.backends.in_force().map(|in_force| answer::confinement(&in_force, &self.backends.mounts()));
        Ok(Response::new(GetStatusResponse { backends, confinement }))
    }

    async fn get_history(&self, request: Request<GetHistoryRequest>) -> Result<Response<GetHistoryResponse>, Status> {
        let (backend, _) = self.find(&request.into_inner().name)?;
        let status = backend.status();
        let attempts = status.history.iter().rev().map(answer::attempt).collect();
        Ok(Response::new(GetHistoryResponse { attempts }))
    }

    async fn reload(&self, request: Request<Streaming<ReloadRequest>>) -> Result<Response<CommandResponse>, Status> {
        let (request, sent) = Upload::receive(request.into_inner()).await?;
        let (backend, _) = self.find(&request.name)?;
        let component = (!request.component.is_empty()).then(|| PathBuf::from(&request.component));
        if component.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err(status::malformed("component must be an absolute path: the host has a directory of its own"));
        }
        if request.canary > 100 {
            return Err(status::malformed("canary must be a percentage, 1 to 100"));
        }
        let manner = Rollout {
            shadow: (request.shadow > 0).then_some(request.shadow),
            canary: u8::try_from(request.canary).ok().filter(|percent| *percent > 0),
        };
        let wait = if request.wait { Wait::Outcome } else { Wait::Nothing };
        // What has come to be there since is to be found.
        self.backends.mounts().renew().await;
        let component = if let Some(named) = component {
            match self.file(&backend, named, sent).await {
                Ok(file) => Some(file),
                Err(refusal) => return Ok(Response::new(answer::command(Err(refusal)))),
            }
        } else {
            if let Err(words) = self.backends.packages().look(&request.name).await {
                let refusal = Refusal::new(RefusalId::Unreadable, words);
                return Ok(Response::new(answer::command(Err(refusal))));
            }
            None
        };
        self.command(&request.name, Command::Reload { component, force: force(request.force), manner, wait }).await
    }

    async fn rollback(&self, request: Request<RollbackRequest>) -> Result<Response<CommandResponse>, Status> {
        let request = request.into_inner();
        self.command(&request.name, Command::Rollback(force(request.force))).await
    }

    async fn pin(&self, request: Request<PinRequest>) -> Result<Response<CommandResponse>, Status> {
        let PinRequest { name, digest } = request.into_inner();
        let code = match digest.as_str() {
            "" => None,
            text => {
                let (backend, _) = self.find(&name)?;
                let status = backend.status();
                let known: Vec<_> = status.history.iter().map(|entry| entry.recipe.code.as_str()).collect();
                Some(digest::meant(text, &known).map_err(status::malformed)?)
            }
        };
        self.command(&name, Command::Pin(code)).await
    }

    type RecordStream = recording::Pieces;

    async fn record(&self, request: Request<Streaming<RecordRequest>>) -> Result<Response<Self::RecordStream>, Status> {
        let mut asked = request.into_inner();
        let first = asked.message().await?.ok_or_else(|| status::malformed("the first message says what to record"))?;
        let (backend, _) = self.find(&first.name)?;
        recording::begin(&backend, &first, (asked, self.end.clone())).map(Response::new)
    }

    async fn drain(&self, request: Request<DrainRequest>) -> Result<Response<CommandResponse>, Status> {
        self.command(&request.into_inner().name, Command::Close(Intake::Drained)).await
    }

    async fn stop(&self, request: Request<StopRequest>) -> Result<Response<CommandResponse>, Status> {
        self.command(&request.into_inner().name, Command::Close(Intake::Stopped)).await
    }
}
